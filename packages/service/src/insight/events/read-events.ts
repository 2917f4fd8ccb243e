import { utcMonth } from '@prepaint/contract/dates.ts'
import type { LiveEvent } from '@prepaint/contract/events/event.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { type JobOutcome, PRIORITIES, STORED } from '@prepaint/contract/outcome/job.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Gathered } from './gathering.ts'

type IncidentNotice = {
  account: AccountId
  domain_id: DomainId
  data: Extract<LiveEvent, { event: 'incident' }>['data']
}
/** `domain` is null for what concerns the account. */
type OwnedEvent = { account: AccountId; domain: DomainId | null; event: LiveEvent }

type DomainRow = {
  id: DomainId
  account_id: AccountId
  plan: string
  custom_domain: DomainName
  is_active: boolean
  renders_used: number
  not_after: Date | null
}

type JobRow = {
  account_id: AccountId
  domain_id: DomainId
  custom_domain: DomainName
  path: PagePath
  priority: number
  state: 'done' | 'failed' | 'cancelled'
  outcome: JobOutcome | null
}

/** Reads the events of `accounts`, filtered in SQL. Uses at most three statements for any number of notifications. */
export async function readEvents(
  db: Queryable,
  accounts: readonly AccountId[],
  gathered: Gathered,
  { plans, nowMs }: { plans: PlanCatalogue; nowMs: number },
): Promise<OwnedEvent[]> {
  const { pages, hosts, visited } = gathered
  const jobs = gathered.jobs.size === 0 ? [] : await readJobs(db, accounts, [...gathered.jobs])
  const warmed = new Set(gathered.warms)
  const counted = new Set<DomainId>()
  for (const job of jobs) {
    if (isBulk(job)) warmed.add(job.domain_id)
    if (job.outcome !== null && STORED.includes(job.outcome)) counted.add(job.domain_id)
  }
  const ids = new Set([...pages.keys(), ...warmed, ...counted, ...visited])
  const isNeeded = ids.size + hosts.size > 0
  const domains = isNeeded ? await readDomains(db, accounts, [...ids], [...hosts], utcMonth(nowMs)) : []
  const warmedOfAccounts = domains.map(({ id }) => id).filter((id) => warmed.has(id))
  const progress = await readProgress(db, warmedOfAccounts)

  const events = jobs.map(renderEvent)
  for (const row of domains) {
    const { id, account_id: account, custom_domain: domain } = row
    const add = (event: LiveEvent) => events.push({ account, domain: id, event })
    const path = pages.get(id)
    if (path !== undefined) add({ event: 'pages', data: { domain, path } })
    if (visited.has(id)) add({ event: 'visits', data: { domain } })
    if (counted.has(id)) events.push(quotaEvent(row, plans))
    const state = progress.get(id)
    if (state !== undefined) add({ event: 'warm', data: { domain, ...state } })
    if (hosts.has(domain)) events.push(domainEvent(row))
  }
  for (const payload of gathered.incidents) {
    const { account, domain_id: domain, data } = JSON.parse(payload) as IncidentNotice
    if (accounts.includes(account)) events.push({ account, domain, event: { event: 'incident', data } })
  }
  for (const account of accounts) {
    if (gathered.accounts.has(account)) {
      events.push({ account, domain: null, event: { event: 'account', data: {} } })
    }
  }
  return events
}

function renderEvent(row: JobRow): OwnedEvent {
  const { account_id, domain_id, custom_domain, path, priority, state, outcome } = row
  const data = { domain: custom_domain, path, priority: PRIORITIES[priority] ?? 'warm', state, outcome }
  return { account: account_id, domain: domain_id, event: { event: 'render', data } }
}

function quotaEvent(
  { id, account_id, custom_domain, plan, renders_used }: DomainRow,
  plans: PlanCatalogue,
): OwnedEvent {
  const { monthly_render_limit } = planNamed(plans, plan)
  const data = { domain: custom_domain, renders_used, monthly_render_limit }
  return { account: account_id, domain: id, event: { event: 'quota', data } }
}

function domainEvent({ id, account_id, custom_domain, is_active, not_after }: DomainRow): OwnedEvent {
  const data = {
    domain: custom_domain,
    is_active,
    certificate_ends_at: not_after?.toISOString() ?? null,
  }
  return { account: account_id, domain: id, event: { event: 'domain', data } }
}

function isBulk({ priority }: JobRow): boolean {
  return PRIORITIES[priority] !== 'live'
}

async function readJobs(
  db: Queryable,
  accounts: readonly AccountId[],
  jobs: readonly string[],
): Promise<JobRow[]> {
  const { rows } = await db.query<JobRow>(
    `select d.account_id, j.domain_id, d.custom_domain, j.path, j.priority, j.state, j.outcome
       from every_job j join domain d on d.id = j.domain_id
      where d.account_id = any ($1::integer[]) and j.id = any ($2::uuid[])
        and j.state in ('done', 'failed', 'cancelled')
      order by j.finished_at, j.path`,
    [accounts, jobs],
  )
  return rows
}

async function readDomains(
  db: Queryable,
  accounts: readonly AccountId[],
  ids: readonly DomainId[],
  hosts: readonly string[],
  month: string,
): Promise<DomainRow[]> {
  const { rows } = await db.query<DomainRow>(
    `select d.id, d.account_id, a.plan, d.custom_domain, d.is_active,
            coalesce(c.renders, 0) as renders_used, t.not_after
       from domain d
       join account a on a.id = d.account_id
       left join render_count c on c.domain_id = d.id and c.month = $4
       left join certificate t on t.domain_id = d.id
      where d.account_id = any ($1::integer[])
        and (d.id = any ($2::integer[]) or d.custom_domain = any ($3::text[]))`,
    [accounts, ids, hosts, month],
  )
  return rows
}

type Progress = { queued: number; running: number; warming: boolean }

/** The caller has checked that `ids` belong to the accounts. */
async function readProgress(db: Queryable, ids: readonly DomainId[]): Promise<Map<DomainId, Progress>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<Progress & { id: DomainId }>(
    `select d as id,
            (select count(*)::int from job where domain_id = d and state = 'queued') as queued,
            (select count(*)::int from job where domain_id = d and state = 'running') as running,
            exists (select from warm where domain_id = d and state in ('reading', 'queueing', 'rendering')
                     and paused_at is null) as warming
       from unnest($1::integer[]) as d`,
    [ids],
  )
  return new Map(rows.map(({ id, ...progress }) => [id, progress]))
}
