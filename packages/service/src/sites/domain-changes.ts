import { isDeepStrictEqual } from 'node:util'
import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import { type AccountId, type DomainId, type DomainName, wholeAccount } from '@prepaint/contract/ids.ts'
import { ownBlockProblem } from '@prepaint/contract/rules/schema.ts'
import {
  type DomainSettings,
  type GivenOriginHeaders,
  readDomainSettings,
} from '@prepaint/contract/settings/domain-settings.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import {
  cancelJobs,
  cancelMobileJobs,
  deleteJobs,
  restartRenders,
} from '@prepaint/pages/queue/jobs/cancel.ts'
import { REFRESH_AHEAD_TASK } from '@prepaint/pages/queue/upkeep/refresh-ahead.ts'
import { addVersion } from '@prepaint/pages/site-files/versions.ts'
import { deletePages, purgeAhead } from '@prepaint/pages/store/purge.ts'
import { forgetRefusals } from '@prepaint/pages/store/refused-pages.ts'
import { countOutdated, markOutdated } from '@prepaint/pages/store/stale-pages.ts'
import { announceAccount, announceHost } from '@prepaint/postgres/announce.ts'
import { changedFields, type Details, record, SECRET } from '@prepaint/postgres/audit'
import { letTakeLong } from '@prepaint/postgres/long-statements.ts'
import { askTask } from '@prepaint/postgres/tasks'
import { type Queryable, retriedTransaction, transaction } from '@prepaint/postgres/transaction.ts'
import { coveredRules } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { type Changer, checkReach, domainRightsNow, rightsNow } from '../accounts/actor.ts'
import { expectCertificate } from '../certificates/orders/order-book.ts'
import type { Vault } from '../certificates/vault/vault.ts'
import { endSiteTokens } from '../fronts/site-tokens.ts'
import { cancelWaitingOfDomain } from '../notifications/delivery/endpoints.ts'
import { followDomain, stopFollowing } from '../notifications/incidents/follow.ts'
import { type Domain, type DomainView, type DomainWithSettings, findDomain } from './domains.ts'
import { keepOriginHeaders, openToAll } from './origin-headers.ts'
import { askForProof } from './proof/ask-for-proof.ts'
import { rememberFormer } from './proof/former-names.ts'
import type { ProofState } from './proof/judge-proof.ts'
import { readProof } from './proof/stored-proof.ts'

export type DeletedDomain = {
  id: DomainId
  custom_domain: DomainName
  origin_url: string
  is_active: boolean
}

/** Absent fields stay unchanged, also within the settings. */
type DomainChange = {
  originUrl?: string | undefined
  isActive?: boolean | undefined
  /** What it may do is read again. Default: nobody. */
  by?: Changer | undefined
  /** The name of who made the change, which its versions keep. */
  author?: string | undefined
  settings?: ChangedSettings | undefined
  /** The name of the template that the settings are of. */
  template?: string | undefined
  /** Seals `settings.origin_headers`. */
  vault?: Vault | undefined
}

type ChangedSettings = {
  [Field in keyof DomainSettings]?:
    | (Field extends 'origin_headers' ? GivenOriginHeaders : DomainSettings[Field])
    | undefined
}

/** Throws `site_limit` if the account may not have `more` domains by its plan. */
export async function checkSiteLimit(
  db: Queryable,
  plans: PlanCatalogue,
  account: AccountId,
  more = 1,
): Promise<void> {
  const { rows } = await db.query<{ plan: string; current: number }>(
    `select plan, (select count(*)::int from domain where account_id = $1) as current
     from account where id = $1`,
    [account],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_not_found')
  const { site_limit: allowed } = planNamed(plans, row.plan)
  if (allowed !== null && row.current + more > allowed) {
    throw new AppError('site_limit', { fields: { current: row.current, allowed } })
  }
}

/**
 * The caller has checked the origin. Locks the account, so that concurrent calls cannot exceed the plan.
 * Throws `site_limit`, `domain_exists`, and as `rightsNow`.
 */
export async function createDomain(
  pool: pg.Pool,
  account: AccountId,
  input: NewDomain,
  view: DomainView,
  by: Changer = null,
): Promise<Domain> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await rightsNow(client, account, by, 'createDomain')
    await checkSiteLimit(client, view.plans, account)
    if ((await addDomain(client, account, input, view)) === null) throw new AppError('domain_exists')
    const { settings: _, indexnow_key: __, ...domain } = await foundDomain(client, account, input.name, view)
    return domain
  })
}

/** `proof`: of which domains a proof is asked. */
export type NewDomain = { name: DomainName; originUrl: string; proof?: ProofMode }

/** Call before `checkSiteLimit`, so that concurrent calls cannot exceed the plan. */
export async function lockAccount(client: Queryable, account: AccountId): Promise<void> {
  await client.query('select from account where id = $1 for no key update', [account])
}

/** Adds a domain in the caller's transaction, with all that follows a domain. Returns null if the name is registered. */
export async function addDomain(
  client: Queryable,
  account: AccountId,
  input: NewDomain,
  view: Pick<DomainView, 'nowMs'>,
): Promise<DomainId | null> {
  const id = await insertDomain(client, account, input, view)
  if (id === null) return null
  const details = { origin_url: input.originUrl }
  await record(client, { account, action: 'domain.added', domain: input.name, details })
  return id
}

async function insertDomain(
  client: Queryable,
  account: AccountId,
  { name, originUrl, proof = 'takeover' }: NewDomain,
  { nowMs }: Pick<DomainView, 'nowMs'>,
): Promise<DomainId | null> {
  const { rows } = await client.query<{ id: DomainId }>(
    `insert into domain (account_id, custom_domain, origin_url) values ($1, $2, $3)
     on conflict (custom_domain) do nothing returning id`,
    [account, name, originUrl],
  )
  const id = rows[0]?.id
  if (id === undefined) return null
  await expectCertificate(client, id)
  await followDomain(client, id)
  await askTask(client, { kind: REFRESH_AHEAD_TASK, key: id, accountId: account })
  await askForProof(client, { id, account, name }, { mode: proof, nowMs })
  await announceHost(client, name)
  return id
}

/** Changes a domain. Throws `domain_not_found` also for a domain of another account, and as `rightsNow`. */
export async function updateDomain(
  pool: pg.Pool,
  account: AccountId,
  name: DomainName,
  change: DomainChange,
  view: DomainView,
): Promise<DomainWithSettings> {
  await admitSecrets(change)
  return retriedTransaction(pool, (client) => updateWithin(client, account, name, change, view))
}

/** As `updateDomain`, in the transaction of the caller. Not for `origin_headers`. */
export async function updateWithin(
  client: Queryable,
  account: AccountId,
  name: DomainName,
  change: DomainChange,
  view: DomainView,
): Promise<DomainWithSettings> {
  checkOwnBlocks(change, name)
  const within = await rightsNow(client, account, change.by ?? null, 'updateDomain')
  const before = await lockDomain(client, account, name)
  checkReach(within, before.id)
  await writeChange(client, before.id, change)
  const after = await foundDomain(client, account, name, view)
  checkTerms(after.settings)
  const kept = await keepVersions(client, after, change, before.settings)
  await recordChange(client, account, before, after, change, kept)
  await endWhatIsOver(client, before, after, change)
  await announceHost(client, name)
  if (rendersDiffer(before, after, change)) await restartRenders(client, after.id)
  await forgetRefusals(client, after.id)
  return after
}

/** Throws `invalid_field` for a rule that blocks the domain itself, which would leave no page. */
function checkOwnBlocks({ settings }: DomainChange, name: DomainName): void {
  const problem = ownBlockProblem(settings?.rules ?? [], name)
  if (problem !== null) throw invalidField(['settings', ...problem.path], problem.message)
}

/** Prepares the vault for headers that are to be sealed. Call it before a transaction: it may need one of its own. */
async function admitSecrets({ vault, settings }: DomainChange): Promise<void> {
  if ((settings?.origin_headers ?? []).length === 0) return
  await vault?.admit().catch((cause) => {
    throw new AppError('secrets_unavailable', { cause })
  })
}

type LockedDomain = { id: DomainId; isActive: boolean; originUrl: string; settings: DomainSettings }

/** Locks the domain, so that versions are in the order of the changes. Throws `domain_not_found`. */
async function lockDomain(client: Queryable, account: AccountId, name: DomainName): Promise<LockedDomain> {
  const { rows } = await client.query<{
    id: DomainId
    is_active: boolean
    origin_url: string
    settings: unknown
  }>(
    'select id, is_active, origin_url, settings from domain where account_id = $1 and custom_domain = $2 for no key update',
    [account, name],
  )
  if (rows[0] === undefined) throw new AppError('domain_not_found')
  const { id, is_active: isActive, origin_url: originUrl, settings } = rows[0]
  return { id, isActive, originUrl, settings: readDomainSettings(settings) }
}

/** The domain gets its key for IndexNow when that is switched on first. */
async function writeChange(client: Queryable, id: DomainId, change: DomainChange): Promise<void> {
  const { origin_headers: headers, ...settings } = change.settings ?? {}
  if (headers !== undefined) await keepOriginHeaders(client, change.vault, id, headers)
  await client.query(
    `update domain
     set origin_url = coalesce($2, origin_url), is_active = coalesce($3, is_active),
         settings = settings || $4::jsonb, updated_at = now(),
         indexnow_key = case when (settings || $4::jsonb)->'indexnow' = 'true'
                             then coalesce(indexnow_key, replace(gen_random_uuid()::text, '-', ''))
                             else indexnow_key end
     where id = $1`,
    [id, change.originUrl ?? null, change.isActive ?? null, JSON.stringify(storedSettings(settings))],
  )
}

/** Jobs, incidents and stored pages that the domain has no use for after the change. */
async function endWhatIsOver(
  client: Queryable,
  before: LockedDomain,
  after: DomainWithSettings,
  change: DomainChange,
): Promise<void> {
  if (change.isActive === false) await cancelJobs(client, after.id)
  if (before.isActive && change.isActive === false) await stopFollowing(client, after.id)
  if (before.settings.devices !== 'one' && after.settings.devices === 'one') {
    await cancelMobileJobs(client, after.id)
    await deletePages(client, after.id, { kind: 'mobile' }, 'one-device')
  }
}

/** Whether a render that began under another value must not be stored. A new setting needs an entry. Sealed `origin_headers` are compared apart. */
const CHANGES_RENDERS: Readonly<Record<keyof DomainSettings, boolean>> = {
  cards: false,
  categories: false,
  crawler_wait_seconds: false,
  crawlers: false,
  devices: true,
  fresh_seconds: false,
  https_redirect: false,
  indexnow: false,
  keep_seconds: false,
  markdown: false,
  origin_cache_control: true,
  origin_headers: false,
  preferences: false,
  query: true,
  refresh_ahead_percent: false,
  refresh_on_deploy: false,
  render: true,
  retry_seconds: false,
  robots: false,
  rules: true,
  sitemap: false,
  soft_404: true,
  stale_seconds: false,
  terms_url: false,
  way: false,
}

const RENDER_SETTINGS = (Object.keys(CHANGES_RENDERS) as (keyof DomainSettings)[]).filter(
  (field) => CHANGES_RENDERS[field],
)

function rendersDiffer(before: LockedDomain, after: DomainWithSettings, { settings }: DomainChange): boolean {
  if (settings?.origin_headers !== undefined || before.originUrl !== after.origin_url) return true
  return RENDER_SETTINGS.some((field) => !isDeepStrictEqual(before.settings[field], after.settings[field]))
}

type Warning = ReturnType<typeof coveredRules>[number] | ReturnType<typeof openToAll>[number]

/** `updateDomain`, with what owners should know of it. `refreshes`: pages that other rules made become stale. */
export async function updateWithNotes(
  pool: pg.Pool,
  account: AccountId,
  name: DomainName,
  { refreshes, ...change }: DomainChange & { refreshes: boolean },
  view: DomainView,
): Promise<{ domain: DomainWithSettings; warnings?: Warning[] | undefined; outdated_pages?: number }> {
  const domain = await updateDomain(pool, account, name, change, view)
  const { rules, origin_headers: headers } = change.settings ?? {}
  if (rules === undefined) return { domain, warnings: headers && openToAll(headers) }
  const outdated = refreshes
    ? await markOutdated(pool, domain.id, rules, view.nowMs)
    : await countOutdated(pool, domain.id, rules)
  const warnings = [...coveredRules(rules), ...openToAll(headers ?? [])]
  return { domain, warnings, outdated_pages: outdated }
}

/** The text of robots.txt is in its version only. */
function storedSettings({ robots, ...others }: Omit<ChangedSettings, 'origin_headers'>): object {
  return robots === undefined ? others : { ...others, robots: { mode: robots.mode } }
}

function checkTerms({ categories, terms_url }: DomainSettings): void {
  if (terms_url === null && Object.values(categories).includes('payment')) {
    throw invalidField(['settings', 'terms_url'], 'is required for "payment"')
  }
}

async function keepVersions(
  client: Queryable,
  { id, settings: after }: DomainWithSettings,
  { settings = {}, author = 'command line' }: DomainChange,
  before: DomainSettings,
): Promise<{ rules: boolean; robots: boolean }> {
  const policyOf = ({ categories, preferences, terms_url }: DomainSettings) => ({
    categories,
    preferences,
    terms_url,
  })
  const { robots } = settings
  let isRobotsNew = false
  if (robots !== undefined) {
    const content = { mode: robots.mode, text: robots.text ?? '' }
    isRobotsNew = await addVersion(client, id, {
      kind: 'robots',
      content,
      author,
      before: { mode: 'origin', text: '' },
    })
  }
  const policy = { content: policyOf(after), before: policyOf(before) }
  await addVersion(client, id, { kind: 'policy', author, ...policy })
  const rules = { content: { rules: after.rules }, before: { rules: before.rules } }
  const isRulesNew = await addVersion(client, id, { kind: 'rules', author, ...rules })
  return { rules: isRulesNew, robots: isRobotsNew }
}

/** Rules and robots.txt have actions of their own; their text is in the version. */
async function recordChange(
  client: Queryable,
  account: AccountId,
  before: LockedDomain,
  after: DomainWithSettings,
  { settings = {}, template }: DomainChange,
  kept: { rules: boolean; robots: boolean },
): Promise<void> {
  const domain = after.custom_domain
  const old = { origin_url: before.originUrl, is_active: before.isActive, ...plainSettings(before.settings) }
  const now = { origin_url: after.origin_url, is_active: after.is_active, ...plainSettings(after.settings) }
  const details: Details = changedFields(old, now)
  if (settings.origin_headers !== undefined) details['origin_headers'] = SECRET
  if (template !== undefined) {
    if (kept.rules) details['rules'] = { old: before.settings.rules.length, new: after.settings.rules.length }
    await record(client, { account, action: 'template.applied', domain, target: template, details })
    return
  }
  if (Object.keys(details).length > 0)
    await record(client, { account, action: 'domain.changed', domain, details })
  if (kept.rules) {
    const counts = { rules: { old: before.settings.rules.length, new: after.settings.rules.length } }
    await record(client, { account, action: 'rules.changed', domain, details: counts })
  }
  if (kept.robots) {
    const modes = { mode: { old: before.settings.robots.mode, new: after.settings.robots.mode } }
    await record(client, { account, action: 'robots.changed', domain, details: modes })
  }
}

function plainSettings(settings: DomainSettings): object {
  const { rules: _rules, robots: _robots, origin_headers: _headers, ...plain } = settings
  return plain
}

/**
 * Deletes jobs first: a completing render locks its job and then the domain. The other order would deadlock.
 * Throws `domain_not_found` also for a domain of another account, and as `rightsNow`.
 */
export async function deleteDomain(
  pool: pg.Pool,
  account: AccountId,
  name: DomainName,
  by: Changer = null,
): Promise<DeletedDomain> {
  const { rows: owned } = await pool.query<{ id: DomainId }>(
    'select id from domain where account_id = $1 and custom_domain = $2',
    [account, name],
  )
  const id = owned[0]?.id
  if (id === undefined) throw new AppError('domain_not_found')
  await domainRightsNow(pool, account, { by, domain: id }, 'deleteDomain')
  await purgeAhead(pool, id, { kind: 'all' }, 'domain-deleted')
  return retriedTransaction(pool, async (client) => {
    await domainRightsNow(client, account, { by, domain: id }, 'deleteDomain')
    const deleted = await removeDomain(client, account, { id, name })
    const details = { origin_url: deleted.origin_url }
    await record(client, { account, action: 'domain.deleted', domain: name, details })
    return deleted
  })
}

/**
 * Removes a domain with all that follows it, in the caller's transaction. `admit` throws if it must stay; the domain is locked then,
 * after its jobs.
 */
async function removeDomain(
  client: Queryable,
  account: AccountId,
  { id, name }: { id: DomainId; name: DomainName },
  admit?: (client: Queryable) => Promise<void>,
): Promise<DeletedDomain> {
  await deletePages(client, id, { kind: 'all' }, 'domain-deleted')
  const patient = await letTakeLong(client, { account })
  await deleteJobs(patient, id)
  if (admit !== undefined) {
    await patient.query('select from domain where id = $1 and account_id = $2 for update', [id, account])
    await admit(patient)
  }
  await endSiteTokens(patient, account, id)
  await rememberFormer(patient, account, id)
  const { rows } = await patient.query<DeletedDomain>(
    `delete from domain where id = $1 and account_id = $2
     returning id, custom_domain, origin_url, is_active`,
    [id, account],
  )
  const deleted = rows[0]
  if (deleted === undefined) throw new AppError('domain_not_found')
  await cancelWaitingOfDomain(patient, id)
  await announceHost(client, name)
  // Live views listen by account: the name no longer leads to the domain.
  await announceAccount(client, account)
  return deleted
}

/**
 * Moves a name to another account, by the operator: it is removed from the one and newly registered in the other, with nothing
 * of what was there. Neither is told the other's name. Nothing happens if the account has proven the name by what it published:
 * `provenBy` says how. Throws `domain_not_found`, `site_limit`, and `domain_exists` for a name that the account has already.
 */
export async function moveDomain(
  pool: pg.Pool,
  { from, id, to }: { from: AccountId; id: DomainId; to: AccountId },
  input: NewDomain,
  view: DomainView,
): Promise<{ domain: DomainWithSettings } | { provenBy: ProofState['method'] }> {
  if (from === to) throw new AppError('domain_exists')
  const { name, originUrl } = input
  const admit = async (db: Queryable): Promise<void> => {
    const { state, method } = await readProof(db, { id, account: from })
    if (state === 'proven' && SHOWN_BY_OWNER.includes(method)) throw new ProvenByOwner(method)
  }
  const move = async (client: Queryable): Promise<DomainWithSettings> => {
    await lockAccount(client, to)
    await checkSiteLimit(client, view.plans, to)
    await removeDomain(client, from, { id, name }, admit)
    await record(client, { account: from, action: 'domain.moved', domain: name, details: { moved: 'away' } })
    await insertDomain(client, to, input, view)
    const details = { moved: 'here', origin_url: originUrl }
    await record(client, { account: to, action: 'domain.moved', domain: name, details })
    return foundDomain(client, to, name, view)
  }
  try {
    await checkSiteLimit(pool, view.plans, to)
    await admit(pool)
    await purgeAhead(pool, id, { kind: 'all' }, 'domain-deleted')
    return { domain: await retriedTransaction(pool, move) }
  } catch (error) {
    if (error instanceof ProvenByOwner) return { provenBy: error.method }
    throw error
  }
}

/** By what the account has published under the name. */
const SHOWN_BY_OWNER: readonly ProofState['method'][] = ['dns', 'file', 'meta']

/** Rolls back a move. */
class ProvenByOwner extends Error {
  readonly method: ProofState['method']

  constructor(method: ProofState['method']) {
    super('the account has proven the name')
    this.method = method
  }
}

async function foundDomain(
  db: Queryable,
  account: AccountId,
  name: DomainName,
  view: DomainView,
): Promise<DomainWithSettings> {
  const domain = await findDomain(db, wholeAccount(account), name, view)
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}
