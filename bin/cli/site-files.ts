import { ownerOfDomain } from '../../src/accounts/keys.ts'
import { firstProblem } from '../../src/api/http/validation.ts'
import type { Config } from '../../src/config.ts'
import { AppError } from '../../src/errors.ts'
import { silentLog } from '../../src/log.ts'
import { createAddressGuard } from '../../src/outbound/address-guard.ts'
import { createClient } from '../../src/outbound/client/pool.ts'
import { judgeText } from '../../src/site-files/judge-crawler.ts'
import { OriginRobots } from '../../src/site-files/origin-robots.ts'
import { checkRedirects, checkRedirectsCsv, redirectsCsv } from '../../src/site-files/redirect-list.ts'
import { keyFileOf } from '../../src/site-files/redirects.ts'
import { ownRobotsText, RobotsFiles, robotsSiteOf } from '../../src/site-files/robots-files.ts'
import {
  type ListedRedirect,
  listRedirects,
  replaceRedirects,
} from '../../src/site-files/stored-redirects.ts'
import { listVersions, VERSION_KINDS, type VersionKind } from '../../src/site-files/versions.ts'
import { updateDomain } from '../../src/sites/domain-changes.ts'
import { robotsSettingsSchema } from '../../src/sites/domain-settings.ts'
import type { OwnedDomain } from '../../src/sites/domains.ts'
import { restoreVersion } from '../../src/sites/restore-version.ts'
import { type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { type OpenStore, withDatabase } from '../command-line/open-database.ts'
import {
  DOMAIN_OPTION,
  domainNamed,
  parseDomainOption,
  parseIdOption,
  readFileOption,
} from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

/** How versions name a change by a command. */
const COMMAND_LINE = 'command line'

const redirectList = defineCommand({
  options: { domain: DOMAIN_OPTION, csv: { value: null, text: 'print CSV: from,to,status' } },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const redirects = await withDatabase(around, async ({ pool }) =>
      listRedirects(pool, await domainNamed(pool, name)),
    )
    const listed = values.csv ? redirectsCsv(redirects).trimEnd() : redirectsText(redirects)
    return { json: { domain: name, redirects }, text: listed }
  },
})

const redirectSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    file: { value: 'F', text: 'JSON or CSV; - reads standard input', required: true },
    csv: { value: null, text: 'the file is CSV; so is one whose name ends in .csv' },
  },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const given = await readFileOption(values.file)
    const isCsv = values.csv || /\.csv$/i.test(values.file)
    const redirects = await withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      const site = { name, keyFile: keyFileOf(domain.indexnowKey) }
      const checked = isCsv ? checkRedirectsCsv(given, site) : checkRedirects(parsed(given), site)
      if (!checked.ok) {
        const lines = checked.lines.map(({ line, error }) => `Line ${line}: ${error}`)
        throw new AppError('invalid_field', { word: lines.join('\n') || checked.error })
      }
      await replaceRedirects(pool, domain, checked.redirects, { author: COMMAND_LINE })
      return listRedirects(pool, domain)
    })
    return { json: { domain: name, redirects }, text: redirectsText(redirects) }
  },
})

/** A list alone is taken as well. */
function parsed(given: string): unknown {
  try {
    const body: unknown = JSON.parse(given)
    return Array.isArray(body) ? { redirects: body } : body
  } catch (error) {
    throw new UsageError(`--file is not JSON: ${(error as Error).message}`)
  }
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
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const shown = await withDatabase(around, async (store) => {
      const domain = await domainNamed(store.pool, name)
      const text = await ownRobotsText(store.pool, domain.id)
      return {
        mode: domain.settings.robots.mode,
        text,
        served: await servedText(around.config, store, domain),
      }
    })
    return {
      json: { domain: name, ...shown },
      text: shown.served?.trimEnd() ?? 'The origin cannot be reached.',
      ...(shown.served === null && { exitCode: 1 }),
    }
  },
})

const robotsSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    mode: { value: 'M', text: "origin, append (to the origin's) or replace", required: true },
    file: { value: 'F', text: 'the text; - reads standard input' },
  },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const given = {
      mode: values.mode,
      ...(values.file !== null && { text: await readFileOption(values.file) }),
    }
    const parsed = robotsSettingsSchema.safeParse(given)
    if (!parsed.success) throw new UsageError(firstProblem(robotsSettingsSchema, given) ?? 'not valid')
    const { plans } = around.config
    const domain = await withDatabase(around, async ({ pool, nowMs }) => {
      const account = await ownerOfDomain(pool, name)
      return updateDomain(pool, account, name, { settings: { robots: parsed.data } }, { plans, nowMs })
    })
    return { json: { domain }, text: `The robots.txt of ${name} is changed (${parsed.data.mode}).` }
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
    const name = parseDomainOption(values.domain)
    if (!values.path.startsWith('/')) throw new UsageError('--path must start with /')
    const text =
      values.file === null
        ? await withDatabase(around, async (store) =>
            servedText(around.config, store, await domainNamed(store.pool, name)),
          )
        : await readFileOption(values.file)
    if (text === null) throw new AppError('origin_not_reached')
    const verdict = judgeText(text, values.crawler, values.path)
    const by = verdict.line === null ? 'no rule matches' : `line ${verdict.line}: ${verdict.rule?.trim()}`
    return { json: verdict, text: `${verdict.allowed ? 'Allowed' : 'Forbidden'} (${by})` }
  },
})

async function servedText(
  config: Config,
  { pool, nowMs }: OpenStore,
  domain: OwnedDomain,
): Promise<string | null> {
  const origins = createClient(createAddressGuard(config.allowedPrivateOrigins))
  try {
    const get = { origins, userAgent: 'Prepaint' }
    const clock = { nowMs: () => nowMs }
    const robots = new RobotsFiles(pool, new OriginRobots({ db: pool, pool, get, clock, log: silentLog() }))
    return await robots.served(robotsSiteOf(domain))
  } finally {
    origins.close()
  }
}

const versionList = defineCommand({
  options: { domain: DOMAIN_OPTION, kind: { value: 'K', text: VERSION_KINDS.join(', '), required: true } },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const kind = values.kind as VersionKind
    if (!VERSION_KINDS.includes(kind)) {
      throw new UsageError(`--kind must be one of ${VERSION_KINDS.join(', ')}, got "${kind}"`)
    }
    const versions = await withDatabase(around, async ({ pool }) =>
      listVersions(pool, (await domainNamed(pool, name)).id, kind),
    )
    const columns = [{ heading: 'id', right: true }, 'changed', 'by'] as const
    const rows = versions.map(({ id, created_at, author }) => [`${id}`, created_at, author])
    return { json: { versions }, text: table(columns, rows, 'No versions yet.') }
  },
})

const versionRestore = defineCommand({
  options: { domain: DOMAIN_OPTION, id: { value: 'ID', text: 'of "version list"', required: true } },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const id = parseIdOption(values.id)
    const { plans } = around.config
    const made = await withDatabase(around, async ({ pool, nowMs }) => {
      const account = await ownerOfDomain(pool, name)
      const domain = await domainNamed(pool, name)
      return restoreVersion(pool, { account, domain, author: COMMAND_LINE }, id, { plans, nowMs })
    })
    return { json: made, text: `Version ${id} (${made.kind}) of ${name} is in force again.` }
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
