import type pg from 'pg'
import type { Queryable } from '../../db/transaction.ts'
import { retriedTransaction } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import { notifyVisited } from '../../store/last-visits.ts'
import { createTrimPaths } from './retention.ts'
import { type DomainHour, Line, type VisitCounts } from './visit-counts.ts'

const HOUR_MS = 3_600_000

/** No row: the batch was already written, but the result of its commit was lost. */
const FENCE = `
  insert into traffic_batch as b (node, batch, written_at) values ($1, $2, $3)
  on conflict (node) do update set batch = excluded.batch, written_at = excluded.written_at
    where b.batch < excluded.batch`

// Nodes write in the same order, to avoid deadlocks, and skip deleted domains. Triggers update `traffic_summary`.
const addLinesTo = (
  table: 'traffic_hour' | 'traffic_day',
  step: 'hour' | 'day',
  type: 'timestamptz' | 'date',
) => `
  insert into ${table} as t (domain_id, ${step}, category, crawler, verdict, visits,
                             status_3xx, status_4xx, status_5xx, unanswered, times, markdown, cards, mobile)
  select n.domain_id, n.${step}, n.category, n.crawler, n.verdict, n.visits,
         n.status_3xx, n.status_4xx, n.status_5xx, n.unanswered, n.times::integer[], n.markdown, n.cards, n.mobile
    from unnest($1::integer[], $2::${type}[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[],
                $14::bigint[])
      as n (domain_id, ${step}, category, crawler, verdict, visits, status_3xx, status_4xx, status_5xx, unanswered, times,
            markdown, cards, mobile)
    join domain d on d.id = n.domain_id
   order by n.domain_id, n.${step}, n.category, n.crawler, n.verdict
  on conflict (domain_id, ${step}, category, crawler, verdict) do update set
    visits = t.visits + excluded.visits,
    status_3xx = t.status_3xx + excluded.status_3xx,
    status_4xx = t.status_4xx + excluded.status_4xx,
    status_5xx = t.status_5xx + excluded.status_5xx,
    unanswered = t.unanswered + excluded.unanswered,
    markdown = t.markdown + excluded.markdown, cards = t.cards + excluded.cards, mobile = t.mobile + excluded.mobile,
    times = array(select coalesce(a, 0) + coalesce(b, 0)
                    from unnest(t.times, excluded.times) with ordinality as step (a, b, at) order by at)`

const ADD_HOURS = { name: 'traffic-add-hours', text: addLinesTo('traffic_hour', 'hour', 'timestamptz') }
const ADD_DAYS = { name: 'traffic-add-days', text: addLinesTo('traffic_day', 'day', 'date') }

const ADD_PATHS = `
  insert into traffic_path as t (domain_id, day, is_failing, path, visits, verdict, status, markdown, cards)
  select n.domain_id, n.day, n.is_failing, n.path, sum(n.visits), max(n.verdict), max(n.status), sum(n.markdown), sum(n.cards)
    from unnest($1::integer[], $2::date[], $3::boolean[], $4::text[], $5::bigint[], $6::text[], $7::smallint[],
                $8::bigint[], $9::bigint[])
      as n (domain_id, day, is_failing, path, visits, verdict, status, markdown, cards)
    join domain d on d.id = n.domain_id
   group by n.domain_id, n.day, n.is_failing, n.path
   order by n.domain_id, n.day, n.is_failing, n.path collate "C"
  on conflict (domain_id, day, is_failing, path) do update set
    visits = t.visits + excluded.visits, verdict = excluded.verdict, status = excluded.status,
    markdown = t.markdown + excluded.markdown, cards = t.cards + excluded.cards
  returning t.domain_id, t.day::text, (t.xmax = 0) as is_new`

const ADD_LAST = `
  insert into traffic_last as t (domain_id, crawler, category, seen_at)
  select n.domain_id, n.crawler, n.category, n.seen_at
    from unnest($1::integer[], $2::text[], $3::text[], $4::timestamptz[]) as n (domain_id, crawler, category, seen_at)
    join domain d on d.id = n.domain_id
   order by n.domain_id
  on conflict (domain_id) do update set
    crawler = excluded.crawler, category = excluded.category, seen_at = excluded.seen_at
    where t.seen_at < excluded.seen_at`

type WriteCounts = (batch: number, hours: readonly DomainHour[], nowMs: number) => Promise<void>

/** Adds a batch in one transaction. `batch` increases; a batch is never written twice. */
export function createWriteCounts(deps: {
  pool: pg.Pool
  node: string
  named: VisitCounts['named']
}): WriteCounts {
  const { pool, node, named } = deps
  const trimPaths = createTrimPaths(pool)

  return async (batch, hours, nowMs) => {
    const added = await retriedTransaction(pool, async (client) => {
      const { rowCount } = await client.query(FENCE, [node, batch, new Date(nowMs)])
      if (rowCount === 0) return []
      await addLines(client, ADD_HOURS, hours.map(linesOfHour))
      await addLines(client, ADD_DAYS, linesOfDays(hours))
      await client.query('select note_live($1)', [domainsAnswered(hours)])
      const paths = await addPaths(client, hours)
      await addLast(client, hours)
      await notifyVisited(
        client,
        hours.map(({ domain }) => domain),
      )
      return paths
    })
    await trimPaths(added)
  }

  async function addLines(
    client: Queryable,
    statement: { name: string; text: string },
    all: readonly LinesOfStep[],
  ): Promise<void> {
    const rows = all.flatMap(({ domain, at, lines }) =>
      [...lines].map(([key, line]) => ({ ...named(key), domain, at, line })),
    )
    await client.query({
      ...statement,
      values: [
        rows.map(({ domain }) => domain),
        rows.map(({ at }) => at),
        rows.map(({ category }) => category),
        rows.map(({ crawler }) => crawler),
        rows.map(({ verdict }) => verdict),
        rows.map(({ line }) => line.visits),
        rows.map(({ line }) => line.status3xx),
        rows.map(({ line }) => line.status4xx),
        rows.map(({ line }) => line.status5xx),
        rows.map(({ line }) => line.unanswered),
        rows.map(({ line }) => `{${withoutLastZeros(line.times).join()}}`),
        rows.map(({ line }) => line.markdown),
        rows.map(({ line }) => line.cards),
        rows.map(({ line }) => line.mobile),
      ],
    })
  }

  async function addLast(client: Queryable, hours: readonly DomainHour[]): Promise<void> {
    const last = new Map<DomainId, DomainHour>()
    for (const each of hours) if (each.lastKey !== -1) last.set(each.domain, each)
    if (last.size === 0) return
    const rows = [...last.values()].map((each) => ({ ...each, ...named(each.lastKey) }))
    await client.query({
      name: 'traffic-add-last',
      text: ADD_LAST,
      values: [
        rows.map(({ domain }) => domain),
        rows.map(({ crawler }) => crawler),
        rows.map(({ category }) => category),
        rows.map(({ lastMs }) => new Date(lastMs)),
      ],
    })
  }
}

/** Those that answered a request below 500. */
function domainsAnswered(hours: readonly DomainHour[]): DomainId[] {
  const answered = hours.filter(({ lines }) =>
    [...lines.values()].some(({ visits, status5xx, unanswered }) => visits > status5xx + unanswered),
  )
  return [...new Set(answered.map(({ domain }) => domain))]
}

type LinesOfStep = { domain: DomainId; at: string; lines: ReadonlyMap<number, Line> }

function linesOfHour({ domain, hour, lines }: DomainHour): LinesOfStep {
  return { domain, at: new Date(hour * HOUR_MS).toISOString(), lines }
}

/** One row a day, because a statement must not change a row twice. */
function linesOfDays(hours: readonly DomainHour[]): LinesOfStep[] {
  const days = new Map<string, { domain: DomainId; at: string; lines: Map<number, Line> }>()
  for (const { domain, hour, lines } of hours) {
    const at = dayOf(hour)
    const name = `${domain} ${at}`
    const day = days.get(name) ?? { domain, at, lines: new Map<number, Line>() }
    days.set(name, day)
    for (const [key, line] of lines) {
      const sum = day.lines.get(key) ?? new Line()
      day.lines.set(key, sum)
      sum.addAll(line)
    }
  }
  return [...days.values()]
}

function dayOf(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString().slice(0, 10)
}

const OTHERS = { verdict: '', status: 0, markdown: 0, cards: 0 }

type AddedPath = { domain_id: DomainId; day: string; is_new: boolean }

async function addPaths(client: Queryable, hours: readonly DomainHour[]): Promise<AddedPath[]> {
  const rows = hours.flatMap(({ domain, hour, top, failing }) => {
    const day = dayOf(hour)
    return [top, failing].flatMap((hitters) => {
      const of = { domain, day, isFailing: hitters === failing }
      const paths = [...hitters.paths].map(([path, hitter]) => ({ ...of, path, ...hitter }))
      return hitters.others === 0 ? paths : [...paths, { ...of, path: '', ...OTHERS, visits: hitters.others }]
    })
  })
  if (rows.length === 0) return []
  const added = await client.query<AddedPath>({
    name: 'traffic-add-paths',
    text: ADD_PATHS,
    values: [
      rows.map(({ domain }) => domain),
      rows.map(({ day }) => day),
      rows.map(({ isFailing }) => isFailing),
      rows.map(({ path }) => path),
      rows.map(({ visits }) => visits),
      rows.map(({ verdict }) => verdict),
      rows.map(({ status }) => status),
      rows.map(({ markdown }) => markdown),
      rows.map(({ cards }) => cards),
    ],
  })
  return added.rows
}

function withoutLastZeros(times: Uint32Array): Uint32Array {
  return times.subarray(0, times.findLastIndex((count) => count > 0) + 1)
}
