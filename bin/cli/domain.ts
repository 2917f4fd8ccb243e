import { AppError } from '@prepaint/contract/errors.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import { domainSettingsPatchSchema } from '@prepaint/contract/settings/domain-settings.ts'
import { firstProblem } from '@prepaint/contract/validation.ts'
import { findJob } from '@prepaint/pages/queue/jobs/find-job.ts'
import { checkDevices } from '@prepaint/pages/queue/upkeep/device-checks.ts'
import { devicesView } from '@prepaint/pages/store/device-pages.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { createDomain, deleteDomain, updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { type DomainWithSettings, listAllDomains, listDomains } from '@prepaint/service/sites/domains.ts'
import { refuseSelectors } from '../command-line/check-selectors.ts'
import { type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { commandProofs } from '../command-line/domain-proofs.ts'
import { withDatabase } from '../command-line/open-database.ts'
import {
  ACCOUNT_OPTIONS,
  accountNamed,
  DOMAIN_OPTION,
  parseDomainOption,
  parseJsonOption,
  parseOriginOption,
  parsePathOptions,
  parseYesNoOption,
  shownDomain,
  whenRendered,
  withDomain,
} from '../command-line/options.ts'
import { fields, table } from '../command-line/output.ts'

const domainAdd = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    domain: { value: 'D', text: 'the name that visitors use', required: true },
    origin: { value: 'URL', text: 'the URL of the site itself', required: true },
  },
  async run(values, around) {
    const { config } = around
    const name = parseDomainOption(values.domain)
    const originUrl = await parseOriginOption(values.origin, config)
    const { domain, served } = await withDatabase(around, async (store) => {
      const { pool, nowMs } = store
      const { id: account } = await accountNamed(pool, values)
      const input = { name, originUrl, proof: config.domainProof }
      const added = await createDomain(pool, account, input, { plans: config.plans, nowMs })
      const { proofs } = commandProofs(store, config)
      const named = { id: added.id, account, name }
      await proofs.settle(named)
      return { domain: added, served: (await proofs.read(named)).served }
    })
    const registered = `Domain ${domain.custom_domain} is registered with the origin ${domain.origin_url}.`
    const unserved = `It is served once its account has proven the name: "prepaint domain proof --domain ${name}" says how.`
    return { json: { domain }, text: served ? registered : `${registered} ${unserved}` }
  },
})

const domainList = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const domains = await withDatabase(around, async ({ pool, nowMs }) => {
      const view = { plans: around.config.plans, nowMs }
      if (named.email === null && named.account === null) return listAllDomains(pool, view)
      const account = await accountNamed(pool, named)
      const own = await listDomains(pool, wholeAccount(account.id), view)
      return own.map((domain) => ({ ...domain, email: account.email }))
    })
    const rows = domains.map((domain) => [
      domain.custom_domain,
      domain.origin_url,
      domain.email,
      domain.is_active ? 'yes' : 'no',
      domain.ssl_enabled ? 'in use' : '-',
      `${domain.renders_used} of ${domain.monthly_render_limit}`,
    ])
    const columns = [
      'domain',
      'origin',
      'account',
      'active',
      'certificate',
      { heading: 'renders this month', right: true },
    ] as const
    return { json: { domains }, text: table(columns, rows, 'No domains yet.') }
  },
})

const domainRemove = defineCommand({
  options: { domain: DOMAIN_OPTION },
  run: (values, around) =>
    withDomain(values.domain, around, async ({ account, name }, { pool }) => {
      const deleted = await deleteDomain(pool, account, name)
      return { json: { deleted }, text: `Domain ${name} and everything stored for it are deleted.` }
    }),
})

const domainSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    origin: { value: 'URL', text: 'the URL of the site itself' },
    active: { value: 'yes|no', text: 'no: live traffic passes to the origin' },
    settings: { value: 'JSON', text: 'the settings to change, such as {"fresh_seconds": 3600}' },
  },
  async run(values, around) {
    const { config } = around
    if (values.origin === null && values.active === null && values.settings === null) {
      throw new UsageError('Nothing to change: give --origin, --active or --settings')
    }
    const change = {
      isActive: values.active === null ? undefined : parseYesNoOption('active', values.active),
      settings: values.settings === null ? undefined : parseSettings(values.settings),
      originUrl: values.origin === null ? undefined : await parseOriginOption(values.origin, config),
    }
    await refuseSelectors(change.settings?.rules ?? [], 'settings', around)
    const { plans, secretKeys: keys, dataDir } = config
    return withDomain(values.domain, around, async ({ account, name }, { pool, nowMs }) => {
      const sealed = { ...change, vault: new Vault(pool, dataDir, keys) }
      const domain = await updateDomain(pool, account, name, sealed, { plans, nowMs })
      return { json: { domain }, text: domainText(domain) }
    })
  },
})

function parseSettings(raw: string) {
  let json = parseJsonOption('settings', raw)
  if (isWrapped(json)) json = json.settings
  const parsed = domainSettingsPatchSchema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new UsageError(`--settings: ${firstProblem(domainSettingsPatchSchema, json, 'JSON') ?? 'not valid'}`)
}

/** The body of `PUT /api/domains/:domain` is accepted as well. */
function isWrapped(json: unknown): json is { settings: unknown } {
  return typeof json === 'object' && json !== null && Object.keys(json).join() === 'settings'
}

const domainShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const domain = await withDatabase(around, (store) => shownDomain(store, name, around.config))
    return { json: { domain }, text: domainText(domain) }
  },
})

function domainText(domain: DomainWithSettings): string {
  return fields([
    ['domain', domain.custom_domain],
    ['id', String(domain.id)],
    ['origin', domain.origin_url],
    ['active', domain.is_active ? 'yes' : 'no'],
    ['certificate', domain.ssl_enabled ? 'in use' : 'none'],
    ['renders', `${domain.renders_used} of ${domain.monthly_render_limit} this month`],
    ['created', domain.created_at],
    ['updated', domain.updated_at],
    ...Object.entries(domain.settings).map(([name, value]) => [name, JSON.stringify(value)] as const),
  ])
}

const PATHS = 10

const devicesCheck = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    path: { value: 'P', text: 'a page to compare, at most 10 times; default: /', many: true },
  },
  async run(values, around) {
    return withDomain(values.domain, around, async (domain, { pool }) => {
      if (!domain.isActive) throw new AppError('domain_inactive')
      const asked = values.path.length === 0 ? ['/'] : values.path
      const paths = parsePathOptions(asked, PATHS, domain.settings.query)
      const jobs = await transaction(pool, (client) => checkDevices(client, domain.id, paths))
      return whenRendered(async () => {
        const told = await Promise.all(
          jobs.map(({ jobId }) => findJob(pool, wholeAccount(domain.account), jobId)),
        )
        if (told.some((job) => job?.finished_at === null)) return null
        const found = await devicesView(pool, domain)
        const pages = found.pages.filter(({ path }) => paths.includes(path as PagePath))
        return { json: { ...found, pages }, text: textOf(pages) }
      }, 'compared the pages')
    })
  },
})

type Compared = Awaited<ReturnType<typeof devicesView>>['pages'][number]

function resultOf({ alike, differences }: Compared): string {
  if (alike === null) return 'could not be compared'
  return alike ? 'alike' : differences.join(', ')
}

function textOf(pages: readonly Compared[]): string {
  const rows = pages.map((page) => [page.path, resultOf(page)])
  return table(['path', 'desktop and mobile differ in'], rows, '')
}

export const commands: Commands = {
  'domain add': domainAdd,
  'domain list': domainList,
  'domain show': domainShow,
  'domain set': domainSet,
  'domain remove': domainRemove,
  'devices check': devicesCheck,
}
