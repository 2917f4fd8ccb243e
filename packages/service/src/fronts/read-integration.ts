import type {
  IntegrationCheck,
  integrationAnswer,
  listIntegrationsAnswer,
  Way,
} from '@prepaint/contract/api/fronts.ts'
import type { DomainId, DomainName, Scope } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { z } from 'zod'
import { WATCHED_CHANNEL } from './evidence.ts'

type Integration = z.infer<typeof integrationAnswer>
type Summary = z.infer<typeof listIntegrationsAnswer>['integrations'][number]

const SEEN_FOR_MS = 7 * 86_400_000
const DAY_MS = 86_400_000

type WayRow = {
  way: Way
  first_at: Date
  last_at: Date
  crawler: string
  path: string
  int_type: string | null
  int_version: string | null
  visits: number
}

/** Says by which way crawlers come to the domain, which the caller found through its account. Tells nodes that its owner is looking. */
export async function readIntegration(
  db: Queryable,
  { id, name }: { id: DomainId; name: DomainName },
  nowMs: number,
): Promise<Integration> {
  await db.query('select pg_notify($1, $2)', [WATCHED_CHANNEL, `${id}`])
  const dayAgo = new Date(nowMs - DAY_MS)
  const { rows: ways } = await db.query<WayRow>(
    `select w.way, w.first_at, w.last_at, w.crawler, w.path, w.int_type, w.int_version,
            coalesce((select sum(visits)::float8 from integration_visits v
                       where v.domain_id = w.domain_id and v.way = w.way and v.hour > $2), 0) as visits
       from integration_way w where w.domain_id = $1 order by w.last_at desc`,
    [id, dayAgo],
  )
  const { rows: refusals } = await db.query<{ reason: string; last_at: Date; count: number }>(
    `select reason, last_at, (sum(count) over ())::integer as count from integration_refusal
      where domain_id = $1 and last_at > $2 order by last_at desc limit 1`,
    [id, dayAgo],
  )
  const { rows: checks } = await db.query<{ result: IntegrationCheck }>(
    'select result from integration_result where domain_id = $1',
    [id],
  )
  const refused = refusals[0]
  return {
    domain: name,
    state: stateOf(ways[0], nowMs),
    ways: { proxy: evidenceOf(ways, 'proxy'), middleware: evidenceOf(ways, 'middleware') },
    refused:
      refused === undefined
        ? null
        : { reason: refused.reason, count: refused.count, last_at: refused.last_at.toISOString() },
    check: checks[0]?.result ?? null,
  }
}

/** Says of each domain within the scope how crawlers are to come, and by which way they do, by name. */
export async function listIntegrations(
  db: Queryable,
  { account, domains }: Scope,
  nowMs: number,
): Promise<Summary[]> {
  const { rows } = await db.query<
    Pick<Summary, 'domain' | 'way'> & { newest: Way | null; last_at: Date | null }
  >(
    `select d.custom_domain as domain, case d.settings->>'way' when 'middleware' then 'middleware' else 'dns' end as way,
            w.way as newest, w.last_at
       from domain d
       left join lateral (select way, last_at from integration_way where domain_id = d.id order by last_at desc limit 1) w
              on true
      where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2)) order by d.custom_domain`,
    [account, domains],
  )
  return rows.map(({ domain, way, newest, last_at }) => {
    const seen = newest === null || last_at === null ? undefined : { way: newest, last_at }
    return { domain, way, state: stateOf(seen, nowMs), last_at: last_at?.toISOString() ?? null }
  })
}

function stateOf(newest: Pick<WayRow, 'way' | 'last_at'> | undefined, nowMs: number): Integration['state'] {
  if (newest === undefined || newest.last_at.getTime() <= nowMs - SEEN_FOR_MS) return 'not_seen'
  return newest.way
}

function evidenceOf(rows: readonly WayRow[], way: Way): Integration['ways'][Way] {
  const row = rows.find((each) => each.way === way)
  if (row === undefined) return null
  const { first_at, last_at, visits, crawler, path, int_type, int_version } = row
  return {
    first_at: first_at.toISOString(),
    last_at: last_at.toISOString(),
    visits_24h: visits,
    crawler,
    path,
    int_type,
    int_version,
  }
}
