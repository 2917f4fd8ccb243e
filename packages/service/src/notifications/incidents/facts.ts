import { utcDay } from '@prepaint/contract/dates.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { STORED } from '@prepaint/contract/outcome/job.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Open, Watch } from './watch.ts'

/** An ended render of the last 24 hours. */
export type Render = { path: string; outcome: string; detail: string | null; atMs: number }

/** What is usual for a domain; read every few minutes. */
export type Usual = {
  /** Renders by outcome, of seven days. */
  outcomes: Record<string, number>
  /** Median characters of text of the pages rendered in the last 24 hours; null: fewer than five. */
  textNow: number | null
  /** The same at the end of earlier days. */
  texts: Record<string, number>
  /** Counted renders a day, of the seven days before today. */
  rendersADay: number
  /** Visits of search crawlers in the last 24 hours, and in the same hours one to four weeks before; null: too new. */
  search: readonly number[] | null
}

export type Facts = {
  nowMs: number
  domain: { id: DomainId; name: DomainName }
  /** Those that tell something: at most 50, newest first. */
  renders: readonly Render[]
  usual: Usual
  quota: { used: number; limit: number }
  certificate: { failures: number; reason: string | null; endsMs: number | null }
  /** `lostMs`: first look since the name led here that did not; `lostAgainMs`: one at least three minutes later. */
  /** `address`: the first one that the name has elsewhere. */
  dns: { lostMs: number | null; lostAgainMs: number | null; state: string | null; address: string | null }
  /** Refused requests of the site's own front in the last three minutes, and the newest of all; 0: none. */
  front: {
    way: 'dns' | 'middleware'
    refused: number
    lastMs: number
    reason: string | null
    windowMs: number
    /** The last crawler that the front sent, after at least a week of them; null: there was no such week. */
    lastVisitMs: number | null
  }
  /** The node's own requests. */
  origin: { goodMs: number | null; badMs: number | null }
}

const UNREACHABLE = ['origin-unreachable', 'timed-out']
export const FAILING: readonly string[] = [
  ...UNREACHABLE,
  'origin-error',
  'site-error',
  'blank',
  'error-page',
  'too-large',
  'crashed',
  'redirect-loop',
]
const GOOD = [...STORED, 'redirect', 'not-html', 'no-store']

type Ended = { outcome: string }
export const isUnreachable = ({ outcome }: Ended): boolean => UNREACHABLE.includes(outcome)
export const isFailing = ({ outcome }: Ended): boolean => FAILING.includes(outcome)
export const isGood = ({ outcome }: Ended): boolean => GOOD.includes(outcome)
/** Says something about the site: neither over quota nor aborted, and no page that never was. */
export const isTelling = (render: Ended): boolean =>
  isFailing(render) || isGood(render) || render.outcome === 'challenge' || render.outcome === 'shrunk'

const WINDOW = 50
/** Read, because some tell nothing. */
const READ = 200
/** A front is refused now if its newest request was, in this time. Refusals are written within a second. */
const FRONT_WINDOW_MS = 3 * 60_000
const LEAST_FRONT_WINDOW_MS = 5_000

const USUAL_EVERY_MS = 5 * 60_000

/** What the node's own requests to a domain need. `nameCheckedMs` null: not visited yet. */
export type Site = { account: AccountId; originUrl: string; nameCheckedMs: number | null }

/** `read`: what is usual, if it was read anew. */
type Sample = { facts: Facts; site: Site; watch: Watch; open: Open[]; read: Usual | null }

type Row = Omit<Facts, 'renders' | 'usual' | 'quota'> &
  Omit<Sample, 'facts' | 'read'> & {
    plan: string
    used: number
    usual: Usual
    read: Omit<Usual, 'texts'> | null
  }

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

// The windows of search visits are 24 whole hours. The last one has ended and has been added up: an hour that runs, or of
// which minutes wait, would look like a loss beside the whole hours of earlier weeks. While minutes before it still wait, as
// after an outage, what was read last counts.
const USUAL = `
  select (select coalesce(json_object_agg(outcome, renders), '{}') from (
            select outcome, sum(renders)::integer as renders from render_outcome_day
             where domain_id = d.id and day > c.today - 7 group by outcome) tally) as outcomes,
         (select case when count(*) >= 5 then percentile_disc(0.5) within group (order by text_chars)::float8 end from (
            select text_chars from page
             where domain_id = d.id and variant = 'desktop' and rendered_at > now() - interval '24 hours'
               and status = 200 and text_chars is not null
             order by rendered_at desc limit ${WINDOW}) p) as "textNow",
         (select coalesce(sum(renders)::float8 / greatest(1, least(7, c.today - min(day))), 0)
            from render_day where domain_id = d.id and day >= c.today - 7 and day < c.today) as "rendersADay",
         case when c.is_adding_up then (h.usual -> 'search')::json
              when exists (select from traffic_folded_day
                            where domain_id = d.id and day <= c.today - 28 and search_visits > 0)
                or exists (select from traffic_day where domain_id = d.id and day <= c.today - 28 and category = 'search') then
           (select json_agg(visits order by week) from (
              select week, (select coalesce(sum(visits), 0)::float8 from (
                              select hour, search_visits as visits from traffic_folded_hour where domain_id = d.id
                              union all
                              select hour, visits from traffic_hour where domain_id = d.id and category = 'search') t
                             where t.hour >= c.hour - week * interval '7 days' - interval '24 hours'
                               and t.hour < c.hour - week * interval '7 days') as visits
                from generate_series(0, 4) week) w) end as search`

// Locks the memory of each domain; what another node is evaluating is skipped. A certificate order for a name that leads
// elsewhere is another matter, or not set up yet.
const DOMAINS = `
  select a.plan, ${ms('clock_timestamp()')} as "nowMs", h.watch, h.usual, coalesce(r.renders, 0) as used,
         json_build_object('id', d.id, 'name', d.custom_domain) as domain,
         json_build_object('account', d.account_id, 'originUrl', d.origin_url,
                           'nameCheckedMs', case when h.live_at is not null then ${ms('h.dns_checked_at')} end) as site,
         json_build_object('failures', case when o.failure = 'not-here' then 0 else coalesce(o.failures, 0) end,
                           'reason', o.reason, 'endsMs', ${ms('t.not_after')}) as certificate,
         json_build_object('lostMs', ${ms('h.lost_at')}, 'lostAgainMs', ${ms('h.lost_again_at')},
                           'state', h.dns_state, 'address', case when n.state = 'elsewhere' then n.addresses[1] end) as dns,
         json_build_object('refused', coalesce(f.refused, 0), 'lastMs', coalesce(${ms('f.last_at')}, 0), 'reason', f.reason,
                           'windowMs', $4::float8, 'way', coalesce(d.settings->>'way', 'dns'),
                           'lastVisitMs', ${ms('w.last_at')}) as front,
         json_build_object('goodMs', ${ms('h.origin_good_at')}, 'badMs', ${ms('h.origin_bad_at')}) as origin,
         coalesce((select json_agg(json_build_object('id', i.id, 'kind', i.kind, 'level', i.evidence -> 'level',
                                                     'openedMs', ${ms('i.opened_at')}))
                     from incident i where i.domain_id = d.id and i.state = 'open'), '[]') as open,
         case when h.usual_at < clock_timestamp() - $3 * interval '1 millisecond' then
           (select row_to_json(u) from (${USUAL}) u) end as read
    from domain d
    cross join (select today, hour, exists (select from traffic_minute where minute < hour) as is_adding_up
                  from (select (now() at time zone 'UTC')::date as today, date_trunc('hour', now() - interval '10 minutes') as hour) t) c
    join account a on a.id = d.account_id
    join health h on h.domain_id = d.id
    left join render_count r on r.domain_id = d.id and r.month = date_trunc('month', c.today)::date
    left join certificate_order o on o.domain_id = d.id
    left join certificate t on t.domain_id = d.id
    left join dns_look n on n.domain_id = d.id
    left join integration_way w on w.domain_id = d.id and w.way = 'middleware' and w.first_at <= w.last_at - interval '7 days'
    left join lateral (select sum(count) filter (where last_at > now() - interval '3 minutes')::integer as refused,
                              max(last_at) as last_at, (array_agg(reason order by last_at desc))[1] as reason
                         from integration_refusal where domain_id = d.id and minute > now() - interval '15 minutes') f on true
   where d.id > $1 and d.is_active and a.suspended_at is null
   order by d.id limit $2
     for update of h skip locked`

// Of their own: as JSON in the statement above they take three times as long.
const RENDERS = `
  select d as id, r.path, r.outcome, r.detail, ${ms('r.ended_at')} as "atMs"
    from unnest($1::integer[]) d
    join lateral (select path, outcome, detail, ended_at, id from render_record
                   where domain_id = d and is_page_path(path) order by id desc limit ${READ}) r
      on r.ended_at > clock_timestamp() - interval '24 hours'
   order by d, r.id desc`

/** Up to `limit` active domains after `after`, in one transaction of the caller. */
export async function readSamples(
  client: Queryable,
  plans: PlanCatalogue,
  { after, limit, speed }: { after: number; limit: number; speed: number },
): Promise<Sample[]> {
  const values = [
    after,
    limit,
    USUAL_EVERY_MS / speed,
    Math.max(FRONT_WINDOW_MS / speed, LEAST_FRONT_WINDOW_MS),
  ]
  const { rows } = await client.query<Row>({ name: 'health-domains', text: DOMAINS, values })
  const ids = rows.map(({ domain }) => domain.id)
  const statement = { name: 'health-renders', text: RENDERS, values: [ids] }
  const renders = await client.query<Render & { id: DomainId }>(statement)
  const rendersOf = Map.groupBy(renders.rows.filter(isTelling), ({ id }) => id)
  return rows.map(({ plan, used, site, watch, open, usual: last, read: fresh, ...row }) => {
    const today = utcDay(row.nowMs)
    const read = fresh && { ...fresh, texts: textsWith(last, fresh.textNow, today) }
    const usual = read ?? last
    const { [today]: _today, ...texts } = usual.texts
    const facts: Facts = {
      ...row,
      renders: rendersOf.get(row.domain.id)?.slice(0, WINDOW) ?? [],
      usual: { ...usual, texts },
      quota: { used, limit: planNamed(plans, plan).monthly_render_limit },
    }
    return { facts, site, watch, open, read }
  })
}

/** The medians at the end of each of the last seven days before today; today's is kept beside them for tomorrow. */
function textsWith(last: Partial<Usual>, now: number | null, today: string): Record<string, number> {
  const days = { ...last.texts }
  if (now !== null && last.textNow != null) days[today] = last.textNow
  return Object.fromEntries(Object.entries(days).toSorted().slice(-8))
}
