import { DEFAULT_PATHS } from '@prepaint/contract/api/cache.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { normalisePath, normalisePrefix, type QueryRule } from '@prepaint/contract/page/path.ts'
import { refreshPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { cancelWarm, pauseWarm, resumeWarm, startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { readWarm } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { listStoredPaths } from '@prepaint/pages/store/list-pages.ts'
import { type PurgeWhat, purgeDomains } from '@prepaint/pages/store/purge.ts'
import { databaseNow, retriedTransaction, transaction } from '@prepaint/postgres/transaction.ts'
import { CommandError, type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { DOMAIN_OPTION, withDomain } from '../command-line/options.ts'
import { reportQueued, warmText, watchWarm } from './watch.ts'

const cacheList = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    return withDomain(values.domain, around, async ({ id, name }, { pool }) => {
      const paths: PagePath[] = []
      for await (const batch of listStoredPaths(pool, id)) paths.push(...batch)
      return {
        json: {
          domain: name,
          cachedPages: paths.length,
          pages: paths.map((path) => ({ path, cacheKey: `render:${name}:${path}` })),
        },
        text: paths.length === 0 ? `No pages of ${name} are stored.` : paths.join('\n'),
      }
    })
  },
})

const cachePurge = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    path: { value: 'P', text: 'only this page; with * at the end, all pages with this prefix' },
  },
  async run(values, around) {
    return withDomain(values.domain, around, async ({ id, name, settings }, { pool }) => {
      const what = purgeWhat(values.path, settings.query)
      const keysDeleted = await purgeDomains(pool, [id], what)
      const deleted = `Deleted ${keysDeleted} stored ${keysDeleted === 1 ? 'entry' : 'entries'} of ${name}.`
      const hint = keysDeleted === 0 ? nothingPurged(what, name) : ''
      return { json: { domain: name, keysDeleted }, text: deleted + hint }
    })
  },
})

function nothingPurged(what: PurgeWhat, name: DomainName): string {
  const list = `"prepaint cache list --domain ${name}" lists the stored paths.`
  if (what.kind === 'prefix') return `\nNo stored path begins with ${what.prefix}. ${list}`
  if (what.kind !== 'path') return ''
  const other = what.path.endsWith('/') ? what.path.slice(0, -1) : `${what.path}/`
  const slash = what.path === '/' || what.path.includes('?') ? '' : ` ${other} is another page.`
  return `\nNo page is stored as ${what.path}.${slash} ${list}`
}

function purgeWhat(raw: string | null, query: QueryRule): PurgeWhat {
  if (raw === null) return { kind: 'all' }
  if (raw.endsWith('*')) {
    const prefix = normalisePrefix(raw.slice(0, -1))
    if (prefix !== null) return { kind: 'prefix', prefix }
    throw new UsageError(pathProblem(raw))
  }
  return { kind: 'path', path: pathOption(raw, query) }
}

function pathOption(raw: string, query: QueryRule): PagePath {
  const path = normalisePath(raw, query)
  if (path === null) throw new UsageError(pathProblem(raw))
  return path
}

function pathProblem(raw: string): string {
  return `--path must be a path that begins with /, got "${raw}"`
}

const cacheRefresh = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    path: { value: 'P', text: `a page; can be repeated; default: ${DEFAULT_PATHS.join(' ')}`, many: true },
    wait: { value: null, text: 'wait until they are rendered (the default at a terminal)' },
  },
  async run(values, around) {
    const raw = values.path.length > 0 ? values.path : DEFAULT_PATHS
    return withDomain(values.domain, around, async (domain, { pool }) => {
      const { name } = domain
      if (!domain.isActive) throw new AppError('domain_inactive')
      const paths = raw.map((text) => pathOption(text, domain.settings.query))
      const since = await databaseNow(pool)
      const jobs = await retriedTransaction(pool, (client) => refreshPages(client, domain.id, paths))
      const words = `Queued ${jobs.length} ${jobs.length === 1 ? 'page' : 'pages'} of ${name}.`
      const queued = { domain, since, wait: values.wait, words, json: { domain: name, jobs } }
      return reportQueued({ pool, around }, queued)
    })
  },
})

const cacheWarm = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    outdated: { value: null, text: 'only pages that are missing, stale, or older than the sitemap says' },
    wait: { value: null, text: 'wait until all are rendered (the default at a terminal)' },
    status: { value: null, text: 'show the progress of the last one' },
    pause: { value: null, text: 'pause the running one' },
    resume: { value: null, text: 'continue the paused one' },
    cancel: { value: null, text: 'cancel the running one; rendered pages stay' },
  },
  async run(values, around) {
    const actions = (['status', 'pause', 'resume', 'cancel'] as const).filter((action) => values[action])
    const [action = null] = actions
    if (actions.length > 1) throw new UsageError(`--${actions.join(' and --')} cannot be given together`)
    if (action !== null && values.outdated)
      throw new UsageError(`--outdated starts a warm, --${action} does not`)
    return withDomain(values.domain, around, async (domain, { pool }) => {
      const { name } = domain
      const since = await databaseNow(pool)
      if (action === null) {
        if (!domain.isActive) throw new AppError('domain_inactive')
        await startWarm(pool, domain.id, values.outdated ? 'outdated' : 'all')
      } else if (action !== 'status') {
        const change = { pause: pauseWarm, resume: resumeWarm, cancel: cancelWarm }[action]
        const isChanged = await transaction(pool, (client) => change(client, domain.id))
        if (!isChanged) throw new CommandError(unchanged(name, action))
      }
      const isWatched = action === null || action === 'resume' || (action === 'status' && values.wait)
      if (isWatched) return watchWarm({ pool, around }, { domain, since, wait: values.wait })
      const warm = await readWarm(pool, domain.id)
      const text =
        warm === null
          ? `${name} has never been warmed.`
          : `${warmText(warm)}\n"prepaint jobs --domain ${name}" lists its renders.`
      return { json: { domain: name, warm }, text }
    })
  },
})

function unchanged(name: DomainName, action: 'pause' | 'resume' | 'cancel'): string {
  return action === 'resume' ? `No warm of ${name} is paused` : `No warm of ${name} is running`
}

export const commands: Commands = {
  'cache list': cacheList,
  'cache purge': cachePurge,
  'cache refresh': cacheRefresh,
  'cache warm': cacheWarm,
}
