import { VERSION_KINDS } from '@prepaint/contract/api/site-files.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { robotsSettingsSchema } from '@prepaint/contract/settings/domain-settings.ts'
import { judgeCrawler } from '@prepaint/contract/site-files/judge-crawler.ts'
import { redirectsCsv } from '@prepaint/contract/site-files/redirect-csv.ts'
import { checkRedirects } from '@prepaint/contract/site-files/redirect-list.ts'
import { firstProblem } from '@prepaint/contract/validation.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { RobotsFiles, robotsView } from '@prepaint/pages/site-files/robots-files.ts'
import {
  type ListedRedirect,
  listRedirects,
  replaceRedirects,
} from '@prepaint/pages/site-files/stored-redirects.ts'
import { listVersions } from '@prepaint/pages/site-files/versions.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { restoreVersion } from '@prepaint/service/sites/restore-version.ts'
import { type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import type { OpenStore } from '../command-line/open-database.ts'
import {
  DOMAIN_OPTION,
  parseChoiceOption,
  parseDomainOption,
  parseIdOption,
  parseJsonOption,
  readFileOption,
  withDomain,
} from '../command-line/options.ts'
import { table } from '../command-line/output.ts'
import type { Config } from '../settings/config.ts'

/** How versions name a change by a command. */
const COMMAND_LINE = 'command line'

const redirectList = defineCommand({
  options: { domain: DOMAIN_OPTION, csv: { value: null, text: 'print CSV: from,to,status' } },
  run: (values, around) =>
    withDomain(values.domain, around, async (domain, { pool }) => {
      const redirects = await listRedirects(pool, domain)
      const text = values.csv ? redirectsCsv(redirects).trimEnd() : redirectsText(redirects)
      return { json: { domain: domain.name, redirects }, text }
    }),
})

const redirectSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    file: { value: 'F', text: 'JSON or CSV; - reads standard input', required: true },
    csv: { value: null, text: 'the file is CSV; so is one whose name ends in .csv' },
  },
  async run(values, around) {
    const text = await readFileOption(values.file)
    const given = values.csv || /\.csv$/i.test(values.file) ? text : parsed(text)
    return withDomain(values.domain, around, async (domain, { pool }) => {
      const checked = checkRedirects(given, domain)
      if (!checked.ok) {
        const lines = checked.lines.map(({ line, error }) => `Line ${line}: ${error}`)
        throw new AppError('invalid_field', { word: lines.join('\n') || checked.error })
      }
      await replaceRedirects(pool, domain, checked.redirects, { author: COMMAND_LINE })
      const redirects = await listRedirects(pool, domain)
      return { json: { domain: domain.name, redirects }, text: redirectsText(redirects) }
    })
  },
})

/** A list alone is taken as well. */
function parsed(given: string): unknown {
  const body = parseJsonOption('file', given)
  return Array.isArray(body) ? { redirects: body } : body
}

function redirectsText(redirects: readonly ListedRedirect[]): string {
  const columns = ['from', 'to', 'status', { heading: 'uses', right: true }, 'last used', 'notes'] as const
  const rows = redirects.map((redirect) => {
    const { from, to, status, hits, last_used_at, external, shadows_page } = redirect
    const notes = [external && 'another host', shadows_page && 'hides a stored page'].filter(Boolean)
    return [from, to ?? '-', `${status}`, `${hits}`, last_used_at ?? 'never', notes.join(', ')]
  })
  return table(columns, rows, 'No redirects yet.')
}

const robotsShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  run: (values, around) =>
    withDomain(values.domain, around, async (domain, store) => {
      const json = await withRobots(around.config, store, (robots) => robotsView(store.pool, robots, domain))
      const { served } = json
      const text = served?.trimEnd() ?? 'The origin cannot be reached.'
      return { json, text, exitCode: served === null ? 1 : 0 }
    }),
})

const robotsSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    mode: { value: 'M', text: "origin, append (to the origin's) or replace", required: true },
    file: { value: 'F', text: 'the text; - reads standard input' },
  },
  async run(values, around) {
    const text = values.file === null ? {} : { text: await readFileOption(values.file) }
    const given = { mode: values.mode, ...text }
    const { data: robots } = robotsSettingsSchema.safeParse(given)
    if (robots === undefined) throw new UsageError(firstProblem(robotsSettingsSchema, given) ?? 'not valid')
    const { plans } = around.config
    return withDomain(values.domain, around, async ({ account, name }, { pool, nowMs }) => {
      const domain = await updateDomain(pool, account, name, { settings: { robots } }, { plans, nowMs })
      return { json: { domain }, text: `The robots.txt of ${name} is changed (${robots.mode}).` }
    })
  },
})

const robotsTest = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    path: { value: 'P', text: 'the path with its query', required: true },
    crawler: { value: 'C', text: 'a token such as Googlebot, or a whole user agent', required: true },
    file: { value: 'F', text: 'judge this text instead of what is served; - reads standard input' },
  },
  async run(values, around) {
    parseDomainOption(values.domain)
    if (!values.path.startsWith('/')) throw new UsageError('--path must start with /')
    const text =
      values.file === null
        ? await withDomain(values.domain, around, (domain, store) =>
            withRobots(around.config, store, async (robots) => robots.served(await robots.siteOf(domain))),
          )
        : await readFileOption(values.file)
    if (text === null) throw new AppError('origin_not_reached')
    const verdict = judgeCrawler(text, values.crawler, values.path)
    const by = verdict.line === null ? 'no rule matches' : `line ${verdict.line}: ${verdict.rule?.trim()}`
    return { json: verdict, text: `${verdict.allowed ? 'Allowed' : 'Forbidden'} (${by})` }
  },
})

async function withRobots<T>(
  config: Config,
  { pool, nowMs }: OpenStore,
  work: (robots: RobotsFiles) => Promise<T>,
): Promise<T> {
  const origins = createClient(createAddressGuard(config.allowedPrivateOrigins))
  try {
    const get = { origins, userAgent: 'Prepaint' }
    const clock = { nowMs: () => nowMs }
    return await work(new RobotsFiles(pool, pool, get, null, clock, silentLog()))
  } finally {
    origins.close()
  }
}

const versionList = defineCommand({
  options: { domain: DOMAIN_OPTION, kind: { value: 'K', text: VERSION_KINDS.join(', '), required: true } },
  async run(values, around) {
    const kind = parseChoiceOption('kind', values.kind, VERSION_KINDS)
    return withDomain(values.domain, around, async ({ id: domain }, { pool }) => {
      const versions = await listVersions(pool, domain, kind)
      const rows = versions.map(({ id, created_at, author }) => [`${id}`, created_at, author])
      const columns = [{ heading: 'id', right: true }, 'changed', 'by'] as const
      return { json: { versions }, text: table(columns, rows, 'No versions yet.') }
    })
  },
})

const versionRestore = defineCommand({
  options: { domain: DOMAIN_OPTION, id: { value: 'ID', text: 'of "version list"', required: true } },
  async run(values, around) {
    const id = parseIdOption(values.id)
    const { plans } = around.config
    return withDomain(values.domain, around, async (domain, { pool, nowMs }) => {
      const by = { domain, author: COMMAND_LINE }
      const made = await restoreVersion(pool, by, id, { plans, nowMs })
      return { json: made, text: `Version ${id} (${made.kind}) of ${domain.name} is in force again.` }
    })
  },
})

export const commands: Commands = {
  'redirect list': redirectList,
  'redirect set': redirectSet,
  'robots show': robotsShow,
  'robots set': robotsSet,
  'robots test': robotsTest,
  'version list': versionList,
  'version restore': versionRestore,
}
