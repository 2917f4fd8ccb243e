import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type App, html, json, packageDir } from './app.ts'

const dir = packageDir('@bull-board/ui', 'dist')

/** The package holds its document with three kinds of EJS tag, which its server fills in. */
const values: Record<string, string> = {
  basePath: '/',
  title: 'Queues',
  favIconDefault: 'static/images/logo.svg',
  favIconAlternative: 'static/favicon-32x32.png',
  uiConfig: JSON.stringify({ boardTitle: 'Queues', pollingInterval: { showSetting: true } }),
}
const document = readFileSync(path.join(dir, 'index.ejs'), 'utf8').replaceAll(
  /<%[=-] (\w+) %>/g,
  (_tag, name: string) => values[name] ?? '',
)

const STATUSES = ['latest', 'active', 'waiting', 'completed', 'failed', 'delayed', 'paused']
const queue = (name: string, counts: Record<string, number>) => ({
  name,
  delimiter: '',
  counts: { ...Object.fromEntries(STATUSES.map((status) => [status, 0])), ...counts },
  jobs: [],
  statuses: STATUSES,
  pagination: { pageCount: 1, range: { start: 0, end: 9 } },
  readOnlyMode: false,
  allowRetries: true,
  allowCompletedRetries: true,
  isPaused: false,
  type: 'bullmq',
  globalConcurrency: null,
  activeRateLimitTtl: 0,
  supportsGlobalRateLimit: false,
  jobSchedulerCount: 0,
  hasWorkers: true,
})

/** A dashboard that never rests: it asks for its data again every few seconds. */
export const bullBoard: App = {
  name: 'bull-board',
  framework: 'React, polling',
  folders: { '/static/': path.join(dir, 'static') },
  answers: {
    '/': html(document),
    '/api/queues': json({
      queues: [queue('parcel-labels', { waiting: 17 }), queue('night-invoices', { failed: 3 })],
    }),
    '/api/redis/stats': json({
      version: '7.4.0',
      mode: 'standalone',
      port: 6379,
      os: 'Linux',
      uptime: 86_400,
      memory: { total: 1000, used: 500, fragmentationRatio: 1, peak: 600 },
      clients: { connected: 4, blocked: 0 },
    }),
  },
  fallback: '/',
  pages: [{ path: '/', texts: ['parcel-labels', 'night-invoices'] }],
}
