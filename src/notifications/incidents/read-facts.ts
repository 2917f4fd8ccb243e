import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import type { Queryable } from '../../db/transaction.ts'
import type { AccountId, DomainId, DomainName } from '../../ids.ts'
import { type Facts, isTelling, type Render, type Usual } from './facts.ts'
import type { Open, Watch } from './watch.ts'

export const WINDOW = 50
/** Read, because some tell nothing. */
const READ = 200
const USUAL_EVERY_MS = 5 * 60_000

export type Sample = { facts: Facts; watch: Watch; open: Open[] }

type Row = {
  id: DomainId
  account_id: AccountId
  custom_domain: DomainName
  plan: string
  now_ms: number
  watch: Watch
  usual: Partial<Usual>
  is_usual_due: boolean
  used: number
  failures: number | null
  failure: string | null
  reason: string | null
  ends_ms: number | null
  led_here: boolean
  lost_ms: number | null
  lost_again_ms: number | null
  dns_state: string | null
  good_ms: number | null
  bad_ms: number | null
  open: Open[]
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

// Locks the memory of each domain; what another node is evaluating is skipped.
const DOMAINS = `
  select d.id, d.account_id, d.custom_domain, a.plan, ${ms('clock_timestamp()')} as now_ms, h.watch, h.usual,
         h.usual_at < clock_timestamp() - $3 * interval '1 millisecond' as is_usual_due,
         coalesce(c.renders, 0) as used, o.failures, o.failure, o.reason, ${ms('t.not_after')} as ends_ms,
         h.led_here_at is not null as led_here, ${ms('h.lost_at')} as lost_ms, ${ms('h.lost_again_at')} as lost_again_ms,
         h.dns_state, ${ms('h.origin_good_at')} as good_ms, ${ms('h.origin_bad_at')} as bad_ms,
         coalesce((select json_agg(json_build_object('id', i.id, 'kind', i.kind, 'level', i.evidence -> 'level',
                                                     'openedMs', ${ms('i.opened_at')}))
                     from incident i where i.domain_id = d.id and i.state = 'open'), '[]') as open
    from domain d
    join account a on a.id = d.account_id
    join health h on h.domain_id = d.id
    left join render_count c on c.domain_id = d.id and c.month = date_trunc('month', now() at time zone 'UTC')::date
    left join certificate_order o on o.domain_id = d.id
    left join certificate t on t.domain_id = d.id
   where d.id > $1 and d.is_active and a.suspended_at is null
   order by d.id limit $2
     for update of h skip locked`

const RENDERS = `
  select d as id, r.path, r.outcome, r.detail, ${ms('r.ended_at')} as "atMs"
    from unnest($1::integer[]) d
    join lateral (select path, outcome, detail, ended_at, id from render_record
                   where domain_id = d order by id desc limit ${READ}) r
      on r.ended_at > clock_timestamp() - interval '24 hours'
   order by d, r.id desc`

// A month has at most as many days of data as it has; the windows of search visits are whole hours.
const USUAL = `
  select d as id,
         (select coalesce(json_object_agg(outcome, renders), '{}') from (
            select outcome, sum(renders)::integer as renders from render_outcome_day
             where domain_id = d and day > (now() at time zone 'UTC')::date - 7 group by outcome) tally) as outcomes,
         (select case when count(*) >= 5 then percentile_disc(0.5) within group (order by text_chars) end from (
            select text_chars from page
             where domain_id = d and rendered_at > now() - interval '24 hours' and status = 200 and text_chars is not null
             order by rendered_at desc limit ${WINDOW}) p) as "textNow",
         (select coalesce(sum(renders), 0)::float8
                 / greatest(1, least(7, (now() at time zone 'UTC')::date - min(day))) from render_day
           where domain_id = d and day >= (now() at time zone 'UTC')::date - 7
             and day < (now() at time zone 'UTC')::date) as "rendersADay",
         case when (select min(day) from traffic_day where domain_id = d and category = 'search')
                   <= (now() at time zone 'UTC')::date - 28 then
           (select json_agg(visits order by week) from (
              select week, (select coalesce(sum(visits), 0)::float8 from traffic_hour t
                             where t.domain_id = d and t.category = 'search'
                               and t.hour > date_trunc('hour', now()) - week * interval '7 days' - interval '24 hours'
                               and t.hour <= date_trunc('hour', now()) - week * interval '7 days') as visits
                from generate_series(0, 4) week) w) end as search
    from unnest($1::integer[]) d`

type UsualRow = Omit<Usual, 'texts' | 'search'> & { id: DomainId; search: number[] | null }

/** Up to `limit` active domains after `after`, in one transaction of the caller. */
export async function readSamples(
  client: Queryable,
  plans: PlanCatalogue,
  { after, limit, speed }: { after: number; limit: number; speed: number },
): Promise<{ samples: Sample[]; last: number | null }> {
  const { rows } = await client.query<Row>({
    name: 'health-domains',
    text: DOMAINS,
    values: [after, limit, USUAL_EVERY_MS / speed],
  })
  if (rows.length === 0) return { samples: [], last: null }
  const ids = rows.map(({ id }) => id)
  const renders = await client.query<Render & { id: DomainId }>({
    name: 'health-renders',
    text: RENDERS,
    values: [ids],
  })
  const rendersOf = Map.groupBy(renders.rows.filter(isTelling), ({ id }) => id)
  const fresh = await readUsual(
    client,
    rows.filter(({ is_usual_due }) => is_usual_due),
  )
  const samples = rows.map((row) => {
    const usual = fresh.get(row.id) ?? { ...NO_USUAL, ...row.usual }
    return sampleOf(row, (rendersOf.get(row.id) ?? []).slice(0, WINDOW), usual, plans)
  })
  return { samples, last: ids.at(-1)! }
}

const NO_USUAL: Usual = { outcomes: {}, textNow: null, texts: {}, rendersADay: 0, search: null }
const TEXT_DAYS = 7

async function readUsual(client: Queryable, due: readonly Row[]): Promise<Map<DomainId, Usual>> {
  if (due.length === 0) return new Map()
  const { rows } = await client.query<UsualRow>({
    name: 'health-usual',
    text: USUAL,
    values: [due.map(({ id }) => id)],
  })
  const before = new Map(due.map((row) => [row.id, row]))
  const usual = new Map<DomainId, Usual>()
  for (const { id, search, ...row } of rows) {
    const { now_ms, usual: last } = before.get(id)!
    usual.set(id, {
      ...row,
      textNow: row.textNow === null ? null : Number(row.textNow),
      rendersADay: row.rendersADay ?? 0,
      texts: textsWith(last, row.textNow, now_ms),
      search: search === null ? null : { now: search[0]!, weeks: search.slice(1) },
    })
  }
  await client.query(
    `update health h set usual = n.usual, usual_at = clock_timestamp()
       from unnest($1::integer[], $2::jsonb[]) n (id, usual) where h.domain_id = n.id`,
    [[...usual.keys()], [...usual.values()].map((each) => JSON.stringify(each))],
  )
  return usual
}

/** The medians at the end of each of the last seven days before today; today's is kept beside them for tomorrow. */
function textsWith(last: Partial<Usual>, now: number | null, nowMs: number): Record<string, number> {
  const days = { ...last.texts }
  const today = new Date(nowMs).toISOString().slice(0, 10)
  if (now !== null && last.textNow != null) days[today] = Number(last.textNow)
  return Object.fromEntries(
    Object.entries(days)
      .toSorted()
      .slice(-TEXT_DAYS - 1),
  )
}

function sampleOf(row: Row, renders: readonly Render[], usual: Usual, plans: PlanCatalogue): Sample {
  const today = new Date(row.now_ms).toISOString().slice(0, 10)
  const { [today]: _, ...texts } = usual.texts
  const facts: Facts = {
    nowMs: row.now_ms,
    domain: { id: row.id, account: row.account_id, name: row.custom_domain },
    renders,
    usual: { ...usual, texts },
    quota: { used: row.used, limit: planNamed(plans, row.plan).monthly_render_limit },
    certificate: {
      // A name that leads elsewhere is another matter, or not set up yet.
      failures: row.failure === 'not-here' ? 0 : (row.failures ?? 0),
      reason: row.reason,
      endsMs: row.ends_ms,
    },
    dns: { ledHere: row.led_here, lostMs: row.lost_ms, lostAgainMs: row.lost_again_ms, state: row.dns_state },
    origin: { goodMs: row.good_ms, badMs: row.bad_ms },
  }
  return { facts, watch: row.watch, open: row.open }
}
