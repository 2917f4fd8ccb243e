import { utcMonth } from '@prepaint/contract/dates.ts'
import type { LiveEvent } from '@prepaint/contract/events/event.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { type JobOutcome, PRIORITIES, STORED } from '@prepaint/contract/outcome/job.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Gathered } from './gathering.ts'

type IncidentData = Extract<LiveEvent, { event: 'incident' }>['data']
type OwnedEvent = { account: AccountId; event: LiveEvent }

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

/** Events for `accounts`, filtered in SQL. At most three statements for any number of notifications. */
export async function readEvents(
  db: Queryable,
  accounts: readonly AccountId[],
  { jobs, pages, hosts, accounts: changed, warms, visited, incidents }: Gathered,
  { plans, nowMs }: { plans: PlanCatalogue; nowMs: number },
): Promise<OwnedEvent[]> {
  const ended = jobs.size === 0 ? [] : await readJobs(db, accounts, [...jobs])
  const moved = new Set([...warms, ...ended.filter(isBulk).map(({ domain_id }) => domain_id)])
  const counted = new Set(
    ended.filter(({ outcome }) => outcome !== null && STORED.includes(outcome)).map((job) => job.domain_id),
  )
  const ids = [...new Set([...pages.keys(), ...moved, ...counted, ...visited])]
  const domains =
    ids.length + hosts.size === 0 ? [] : await readDomains(db, accounts, ids, [...hosts], utcMonth(nowMs))
  const owned = new Map(domains.map((domain) => [domain.id, domain]))
  const progress = await readProgress(
    db,
    [...moved].filter((id) => owned.has(id)),
  )

  return [
    ...ended.map(({ account_id, custom_domain: domain, path, priority, state, outcome }) =>
      of(account_id, {
        event: 'render',
        data: { domain, path, priority: PRIORITIES[priority] ?? 'warm', state, outcome },
      }),
    ),
    ...domains.flatMap((domain) => [...eventsOf(domain)]),
    ...[...incidents]
      .map((payload) => JSON.parse(payload) as { account: AccountId; data: IncidentData })
      .filter(({ account }) => accounts.includes(account))
      .map(({ account, data }) => of(account, { event: 'incident', data })),
    ...[...changed]
      .filter((account) => (accounts as readonly number[]).includes(account))
      .map((account) => of(account as AccountId, { event: 'account', data: {} })),
  ]

  function* eventsOf({ id, account_id, custom_domain: domain, ...row }: DomainRow): Generator<OwnedEvent> {
    if (pages.has(id)) yield of(account_id, { event: 'pages', data: { domain, path: pages.get(id) ?? null } })
    if (visited.has(id)) yield of(account_id, { event: 'visits', data: { domain } })
    if (counted.has(id)) {
      const { monthly_render_limit } = planNamed(plans, row.plan)
      yield of(account_id, {
        event: 'quota',
        data: { domain, renders_used: row.renders_used, monthly_render_limit },
      })
    }
    const state = progress.get(id)
    if (state !== undefined) yield of(account_id, { event: 'warm', data: { domain, ...state } })
    if (hosts.has(domain)) {
      const certificate_ends_at = row.not_after?.toISOString() ?? null
      yield of(account_id, {
        event: 'domain',
        data: { domain, is_active: row.is_active, certificate_ends_at },
      })
    }
  }
}

function of(account: AccountId, event: LiveEvent): OwnedEvent {
  return { account, event }
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
       from job j join domain d on d.id = j.domain_id
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
