import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { utcDay } from '../../clock.ts'
import type { Queryable } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import { type Facts, isTelling, type Render, type Usual } from './facts.ts'
import type { Open, Watch } from './watch.ts'

const WINDOW = 50
/** Read, because some tell nothing. */
const READ = 200
const USUAL_EVERY_MS = 5 * 60_000

export type Sample = { facts: Facts; watch: Watch; open: Open[] }

type Row = Pick<Facts, 'nowMs' | 'domain' | 'certificate' | 'dns' | 'origin'> & {
  id: DomainId
  plan: string
  used: number
  lastUsual: Partial<Usual>
  isUsualDue: boolean
  watch: Watch
  open: Open[]
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

// Locks the memory of each domain; what another node is evaluating is skipped. A certificate order for a name that leads
// elsewhere is another matter, or not set up yet.
const DOMAINS = `
  select d.id, a.plan, ${ms('clock_timestamp()')} as "nowMs", h.watch, h.usual as "lastUsual",
         json_build_object('id', d.id, 'name', d.custom_domain) as domain,
         h.usual_at < clock_timestamp() - $3 * interval '1 millisecond' as "isUsualDue", coalesce(c.renders, 0) as used,
         json_build_object('failures', case when o.failure = 'not-here' then 0 else coalesce(o.failures, 0) end,
                           'reason', o.reason, 'endsMs', ${ms('t.not_after')}) as certificate,
         json_build_object('ledHere', h.led_here_at is not null, 'lostMs', ${ms('h.lost_at')},
                           'lostAgainMs', ${ms('h.lost_again_at')}, 'state', h.dns_state) as dns,
         json_build_object('goodMs', ${ms('h.origin_good_at')}, 'badMs', ${ms('h.origin_bad_at')}) as origin,
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
         (select case when count(*) >= 5 then percentile_disc(0.5) within group (order by text_chars)::float8 end from (
            select text_chars from page
             where domain_id = d and rendered_at > now() - interval '24 hours' and status = 200 and text_chars is not null
             order by rendered_at desc limit ${WINDOW}) p) as "textNow",
         (select coalesce(sum(renders)::float8 / greatest(1, least(7, (now() at time zone 'UTC')::date - min(day))), 0)
            from render_day where domain_id = d and day >= (now() at time zone 'UTC')::date - 7
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

const NO_USUAL: Usual = { outcomes: {}, textNow: null, texts: {}, rendersADay: 0, search: null }

/** Up to `limit` active domains after `after`, in one transaction of the caller. */
export async function readSamples(
  client: Queryable,
  plans: PlanCatalogue,
  { after, limit, speed }: { after: number; limit: number; speed: number },
): Promise<{ samples: Sample[]; last: number | null }> {
  const values = [after, limit, USUAL_EVERY_MS / speed]
  const { rows } = await client.query<Row>({ name: 'health-domains', text: DOMAINS, values })
  if (rows.length === 0) return { samples: [], last: null }
  const renders = await client.query<Render & { id: DomainId }>({
    name: 'health-renders',
    text: RENDERS,
    values: [rows.map(({ id }) => id)],
  })
  const rendersOf = Map.groupBy(renders.rows.filter(isTelling), ({ id }) => id)
  const fresh = await readUsual(
    client,
    rows.filter(({ isUsualDue }) => isUsualDue),
  )
  const samples = rows.map(({ id, plan, used, lastUsual, watch, open, ...row }) => {
    const usual = fresh.get(id) ?? { ...NO_USUAL, ...lastUsual }
    const { [utcDay(row.nowMs)]: _today, ...texts } = usual.texts
    const facts: Facts = {
      ...row,
      renders: (rendersOf.get(id) ?? []).slice(0, WINDOW),
      usual: { ...usual, texts },
      quota: { used, limit: planNamed(plans, plan).monthly_render_limit },
    }
    return { facts, watch, open }
  })
  return { samples, last: rows.at(-1)!.id }
}

async function readUsual(client: Queryable, due: readonly Row[]): Promise<Map<DomainId, Usual>> {
  const usual = new Map<DomainId, Usual>()
  if (due.length === 0) return usual
  const { rows } = await client.query<Omit<Usual, 'texts'> & { id: DomainId }>({
    name: 'health-usual',
    text: USUAL,
    values: [due.map(({ id }) => id)],
  })
  for (const { id, ...row } of rows) {
    const { lastUsual, nowMs } = due.find((each) => each.id === id)!
    usual.set(id, { ...row, texts: textsWith(lastUsual, row.textNow, utcDay(nowMs)) })
  }
  await client.query(
    `update health h set usual = n.usual, usual_at = clock_timestamp()
       from unnest($1::integer[], $2::jsonb[]) n (id, usual) where h.domain_id = n.id`,
    [[...usual.keys()], [...usual.values()].map((each) => JSON.stringify(each))],
  )
  return usual
}

/** The medians at the end of each of the last seven days before today; today's is kept beside them for tomorrow. */
function textsWith(last: Partial<Usual>, now: number | null, today: string): Record<string, number> {
  const days = { ...last.texts }
  if (now !== null && last.textNow != null) days[today] = last.textNow
  return Object.fromEntries(Object.entries(days).toSorted().slice(-8))
}
