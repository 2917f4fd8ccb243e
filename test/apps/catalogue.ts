import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { renderAltair } from 'altair-static'
import { build } from 'vite'
import inspect from 'vite-plugin-inspect'
import { until } from '../support/condition.ts'
import { type Answer, type App, html, json, packageDir } from './app.ts'

const site = (title: string, head: string, body: string): Answer =>
  html(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${head}</head><body>${body}</body></html>`,
  )

const swaggerDir = packageDir('swagger-ui-dist')
const starTrek = readFileSync(packageDir('@readme/oas-examples', '3.0/json/star-trek.json'), 'utf8')

const initializer = readFileSync(path.join(swaggerDir, 'swagger-initializer.js'), 'utf8').replace(
  'https://petstore.swagger.io/v2/swagger.json',
  '/openapi.json',
)

/** 80 paths and half a megabyte of OpenAPI, fetched and resolved in the browser. */
const swaggerUi: App = {
  name: 'swagger-ui',
  framework: 'React',
  folders: { '/': swaggerDir },
  answers: {
    '/': html(readFileSync(path.join(swaggerDir, 'index.html'), 'utf8')),
    '/swagger-initializer.js': { type: 'text/javascript', body: initializer },
    '/openapi.json': { type: 'application/json', body: starTrek, delayMs: 30 },
  },
  pages: [{ path: '/', texts: ['STAPI', 'AstronomicalObject', '/spacecraftClass', '/weapon'] }],
}

/** The package holds its document with three kinds of EJS tag, which its server fills in. */
const boardValues: Record<string, string> = {
  basePath: '/',
  title: 'Queues',
  favIconDefault: 'static/images/logo.svg',
  favIconAlternative: 'static/favicon-32x32.png',
  uiConfig: JSON.stringify({ boardTitle: 'Queues', pollingInterval: { showSetting: true } }),
}
const board = readFileSync(packageDir('@bull-board/ui', 'dist/index.ejs'), 'utf8').replaceAll(
  /<%[=-] (\w+) %>/g,
  (_tag, name: string) => boardValues[name] ?? '',
)

const STATUSES = ['latest', 'active', 'waiting', 'completed', 'failed', 'delayed', 'paused']
const queue = (name: string, counts: Record<string, number>) => ({
  ...{ name, delimiter: '', type: 'bullmq', jobs: [], statuses: STATUSES },
  counts: { ...Object.fromEntries(STATUSES.map((status) => [status, 0])), ...counts },
  pagination: { pageCount: 1, range: { start: 0, end: 9 } },
  ...{
    readOnlyMode: false,
    allowRetries: true,
    allowCompletedRetries: true,
    isPaused: false,
    hasWorkers: true,
  },
  ...{ globalConcurrency: null, activeRateLimitTtl: 0, supportsGlobalRateLimit: false, jobSchedulerCount: 0 },
})

/** A dashboard that never rests: it asks for its data again every few seconds. */
const bullBoard: App = {
  name: 'bull-board',
  framework: 'React, polling',
  folders: { '/static/': packageDir('@bull-board/ui', 'dist/static') },
  answers: {
    '/': html(board),
    '/api/queues': json({
      queues: [queue('parcel-labels', { waiting: 17 }), queue('night-invoices', { failed: 3 })],
    }),
    '/api/redis/stats': json({
      ...{ version: '7.4.0', mode: 'standalone', port: 6379, os: 'Linux', uptime: 86_400 },
      memory: { total: 1000, used: 500, fragmentationRatio: 1, peak: 600 },
      clients: { connected: 4, blocked: 0 },
    }),
  },
  fallback: '/',
  pages: [{ path: '/', texts: ['parcel-labels', 'night-invoices'] }],
}

/** A GraphQL client built with Angular: its own storage, workers and dozens of module files. */
const altair: App = {
  name: 'altair',
  framework: 'Angular',
  folders: { '/': packageDir('altair-static', 'build/dist') },
  answers: {
    '/': html(renderAltair({ baseURL: '/', endpointURL: '/graphql', initialQuery: '{ lighthouses }' })),
    // It asks for the schema at once; many servers refuse that.
    '/graphql': json({ errors: [{ message: 'introspection is not allowed' }] }),
  },
  pages: [
    {
      path: '/',
      texts: ['altair.example/graphql', 'Set Headers', 'Send Request', 'Refactor Query', 'Response headers'],
    },
  ],
}

const guide = readFileSync(packageDir('fastify', 'docs/Guides/Getting-Started.md'), 'utf8')
const readme = readFileSync(packageDir('docute', 'README.md'), 'utf8')

/** A documentation site without a build step: Markdown is fetched and turned into pages by Vue. */
const docute: App = {
  name: 'docute',
  framework: 'Vue 2, documentation system',
  folders: { '/': packageDir('docute', 'dist') },
  answers: {
    '/': site(
      'Handbook',
      `<link rel="stylesheet" href="/docute.css">`,
      `<div id="docute"></div>
    <script src="/docute.js"></script>
    <script>
      new Docute({
        target: '#docute',
        title: 'Handbook',
        router: { mode: 'history' },
        sidebar: [{ title: 'Chapters', links: [{ title: 'First steps', link: '/guide' }] }]
      })
    </script>`,
    ),
    '/README.md': { type: 'text/markdown', body: readme, delayMs: 30 },
    '/guide.md': { type: 'text/markdown', body: guide, delayMs: 30 },
  },
  fallback: '/',
  pages: [
    { path: '/', texts: ['Effortless documentation, done right.'] },
    { path: '/guide', texts: ['Your first server', 'Loading order of your plugins'] },
  ],
}

/** A structured editor built with Svelte, fed by a request. */
const jsonEditor: App = {
  name: 'json-editor',
  framework: 'Svelte',
  folders: { '/editor/': packageDir('vanilla-jsoneditor') },
  answers: {
    '/': site(
      'Stock',
      ``,
      `<div id="editor"></div>
    <script type="module">
      import { JSONEditor } from '/editor/index.js'
      const stock = await (await fetch('/stock.json')).json()
      new JSONEditor({ target: document.getElementById('editor'), props: { content: { json: stock } } })
    </script>`,
    ),
    '/stock.json': json({ warehouse: 'Rotterdam', pallets: [{ sku: 'copper-kettle', count: 418 }] }),
  },
  pages: [{ path: '/', texts: ['Rotterdam', 'pallets'] }],
}

/** A calendar built with Preact; it asks its site for the events of the month on show. */
const fullCalendar: App = {
  name: 'full-calendar',
  framework: 'Preact',
  folders: { '/calendar/': packageDir('fullcalendar') },
  answers: {
    '/': site(
      'Programme',
      `<script src="/calendar/index.global.min.js"></script>`,
      `<div id="calendar"></div>
    <script>
      document.addEventListener('DOMContentLoaded', () => {
        const target = document.getElementById('calendar')
        new FullCalendar.Calendar(target, { initialDate: '2026-03-01', events: '/events.json' }).render()
      })
    </script>`,
    ),
    '/events.json': json([
      { title: 'Lighthouse tour', start: '2026-03-05' },
      { title: 'Organ recital', start: '2026-03-17T19:30:00' },
    ]),
  },
  pages: [{ path: '/', texts: ['March 2026', 'Lighthouse tour', 'Organ recital'] }],
}

const cast = [
  { version: 2, width: 60, height: 6 },
  [0.5, 'o', '$ make harbour\r\n'],
  [1.5, 'o', 'dredging the northern basin\r\n'],
  [2.5, 'o', 'harbour ready\r\n'],
]
  .map((line) => JSON.stringify(line))
  .join('\n')

/** A terminal player built with Solid: WebAssembly, a recording fetched, its frame at three seconds shown. */
const asciinema: App = {
  name: 'asciinema',
  framework: 'Solid',
  folders: { '/player/': packageDir('asciinema-player', 'dist/bundle') },
  answers: {
    '/': site(
      'Recording',
      `<link rel="stylesheet" href="/player/asciinema-player.css">`,
      `<div id="player"></div>
    <script src="/player/asciinema-player.min.js"></script>
    <script>
      AsciinemaPlayer.create('/harbour.cast', document.getElementById('player'), { preload: true, poster: 'npt:3' })
    </script>`,
    ),
    '/harbour.cast': { type: 'application/x-asciicast', body: cast, delayMs: 30 },
  },
  pages: [{ path: '/', texts: ['dredging the northern basin', 'harbour ready'] }],
}

/** Documentation of web components, built with Lit: shadow roots inside shadow roots, 70 unbundled module files. */
const imports = {
  lit: '/npm/lit/index.js',
  'lit/': '/npm/lit/',
  'lit-html': '/npm/lit-html/lit-html.js',
  'lit-html/': '/npm/lit-html/',
  'lit-element/lit-element.js': '/npm/lit-element/lit-element.js',
  '@lit/reactive-element': '/npm/@lit/reactive-element/reactive-element.js',
  '@lit/reactive-element/': '/npm/@lit/reactive-element/',
  'highlight-ts/': '/npm/highlight-ts/',
  dompurify: '/npm/dompurify/dist/purify.es.js',
  marked: '/npm/marked/lib/marked.esm.js',
  tslib: '/npm/tslib/tslib.es6.js',
}

const apiViewer: App = {
  name: 'api-viewer',
  framework: 'Lit',
  folders: Object.fromEntries(
    'api-viewer-element lit lit-html lit-element @lit/reactive-element highlight-ts dompurify marked tslib'
      .split(' ')
      .map((name) => [`/npm/${name}/`, packageDir(name)]),
  ),
  answers: {
    '/': site(
      'Components',
      `<script type="importmap">${JSON.stringify({ imports })}</script>
      <script type="module" src="/npm/api-viewer-element/lib/api-docs.js"></script>`,
      `<api-docs src="/npm/api-viewer-element/custom-elements.json"></api-docs>`,
    ),
  },
  pages: [{ path: '/', texts: ['api-viewer-tabs', 'excludeKnobs', 'jsonFetched'] }],
}

/** The report that vite-plugin-inspect writes about a real build. `dir`: an empty folder to build in. */
async function buildViteInspect(dir: string): Promise<App> {
  const root = path.join(dir, 'site')
  const report = path.join(dir, 'report')
  await mkdir(root, { recursive: true })
  await writeFile(path.join(root, 'index.html'), '<link rel="stylesheet" href="/lanterns.css">')
  await writeFile(path.join(root, 'lanterns.css'), "@import './wicks.css';\n.lantern { color: goldenrod }\n")
  await writeFile(path.join(root, 'wicks.css'), '.wick { color: black }\n')
  await build({
    root,
    configFile: false,
    logLevel: 'silent',
    plugins: [inspect({ build: true, outputDir: report })],
  })
  // The plugin goes on writing after the build has ended; this file is its last.
  await until('the report is written', async () =>
    JSON.parse(await readFile(path.join(report, 'reports', 'metadata.json'), 'utf8')),
  )
  return {
    name: 'vite-inspect',
    framework: 'Vue 3',
    folders: { '/': report },
    answers: { '/': html(await readFile(path.join(report, 'index.html'), 'utf8')) },
    pages: [{ path: '/', texts: ['lanterns.css', 'build-html'] }],
  }
}

/** All applications. `dir`: an empty folder for what has to be generated. */
export async function openCatalogue(dir: string): Promise<readonly App[]> {
  const inspected = await buildViteInspect(dir)
  return [swaggerUi, bullBoard, altair, inspected, docute, jsonEditor, fullCalendar, asciinema, apiViewer]
}
