import type { DomainId } from '@prepaint/contract/ids.ts'
import { notifyVisited } from '@prepaint/pages/store/last-visits.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { PathTrimmer } from './retention.ts'
import { COUNTS, type DomainHour, Line, type VisitCounts } from './visit-counts.ts'

const HOUR_MS = 3_600_000

/** Returns no row if the batch was already written, but the result of its commit was lost. */
const FENCE = `
  insert into traffic_batch as b (node, batch, written_at) values ($1, $2, $3)
  on conflict (node) do update set batch = excluded.batch, written_at = excluded.written_at
    where b.batch < excluded.batch`

// Nodes write in the same order, to avoid deadlocks, and skip deleted domains. Triggers update `traffic_summary`.
const addLinesTo = (table: 'traffic_hour' | 'traffic_day', step: 'hour' | 'day') => `
  insert into ${table} as t (domain_id, ${step}, category, crawler, verdict, times, ${COUNTS.join()})
  select domain_id, ${step}, category, crawler, verdict, times, ${COUNTS.join()}
    from json_populate_recordset(null::${table}, $1)
   where exists (select from domain where id = domain_id)
   order by domain_id, ${step}, category, crawler, verdict
  on conflict (domain_id, ${step}, category, crawler, verdict) do update set
    ${COUNTS.map((name) => `${name} = t.${name} + excluded.${name}`).join()},
    times = array(select coalesce(a, 0) + coalesce(b, 0)
                    from unnest(t.times, excluded.times) with ordinality as step (a, b, at) order by at)`

const ADD_HOURS = { name: 'traffic-add-hours', text: addLinesTo('traffic_hour', 'hour') }
const ADD_DAYS = { name: 'traffic-add-days', text: addLinesTo('traffic_day', 'day') }

const ADD_PATHS = `
  insert into traffic_path as t (domain_id, day, is_failing, path, visits, verdict, status, markdown, cards)
  select domain_id, day, is_failing, path, sum(visits), max(verdict), max(status), sum(markdown), sum(cards)
    from json_populate_recordset(null::traffic_path, $1)
   where exists (select from domain where id = domain_id)
   group by domain_id, day, is_failing, path
   order by domain_id, day, is_failing, path collate "C"
  on conflict (domain_id, day, is_failing, path) do update set
    visits = t.visits + excluded.visits, verdict = excluded.verdict, status = excluded.status,
    markdown = t.markdown + excluded.markdown, cards = t.cards + excluded.cards
  returning t.domain_id, t.day::text, (t.xmax = 0) as is_new`

const ADD_LAST = `
  insert into traffic_last as t (domain_id, crawler, category, seen_at)
  select domain_id, crawler, category, seen_at
    from json_populate_recordset(null::traffic_last, $1)
   where exists (select from domain where id = domain_id)
   order by domain_id
  on conflict (domain_id) do update set
    crawler = excluded.crawler, category = excluded.category, seen_at = excluded.seen_at
    where t.seen_at < excluded.seen_at`

/** Writes batches of counts for one run of a node. */
export class CountsWriter {
  readonly #pool: pg.Pool
  readonly #node: string
  readonly #counts: VisitCounts
  readonly #pathTrimmer: PathTrimmer

  /** `counts` are those from which the batches are taken. */
  constructor(pool: pg.Pool, node: string, counts: VisitCounts) {
    this.#pool = pool
    this.#node = node
    this.#counts = counts
    this.#pathTrimmer = new PathTrimmer(pool)
  }

  /** Adds a batch in one transaction. `batch` increases with each; a batch that was already written is skipped. */
  async write(batch: number, hours: readonly DomainHour[], nowMs: number): Promise<void> {
    const addedPaths = await retriedTransaction(this.#pool, async (client) => {
      const { rowCount } = await client.query(FENCE, [this.#node, batch, new Date(nowMs)])
      if (rowCount === 0) return []
      await this.#addLines(client, ADD_HOURS, hours.map(linesOfHour))
      await this.#addLines(client, ADD_DAYS, linesOfDays(hours))
      await client.query('select note_live($1)', [domainsAnswered(hours)])
      const paths = await addPaths(client, hours)
      await this.#addLast(client, hours)
      const domains = hours.map(({ domain }) => domain)
      await notifyVisited(client, domains)
      return paths
    })
    await this.#pathTrimmer.trim(addedPaths)
  }

  async #addLines(
    client: Queryable,
    statement: { name: string; text: string },
    all: readonly LinesOfStep[],
  ): Promise<void> {
    const rows: object[] = []
    for (const { lines, ...columns } of all) {
      for (const [key, line] of lines) {
        rows.push({ ...columns, ...this.#counts.nameOf(key), ...line, times: withoutLastZeros(line) })
      }
    }
    await client.query({ ...statement, values: [JSON.stringify(rows)] })
  }

  async #addLast(client: Queryable, hours: readonly DomainHour[]): Promise<void> {
    const last = new Map<DomainId, object>()
    for (const { domain, lastKey, lastMs } of hours) {
      if (lastKey === -1) continue
      last.set(domain, { domain_id: domain, ...this.#counts.nameOf(lastKey), seen_at: new Date(lastMs) })
    }
    if (last.size === 0) return
    await client.query({
      name: 'traffic-add-last',
      text: ADD_LAST,
      values: [JSON.stringify([...last.values()])],
    })
  }
}

/** Returns the domains that answered a request with a status below 500. */
function domainsAnswered(hours: readonly DomainHour[]): DomainId[] {
  const answered = hours.filter(({ lines }) =>
    [...lines.values()].some(({ visits, status_5xx, unanswered }) => visits > status_5xx + unanswered),
  )
  return [...new Set(answered.map(({ domain }) => domain))]
}

type LinesOfStep = { domain_id: DomainId; lines: Map<number, Line> } & ({ hour: string } | { day: string })

function linesOfHour({ domain, hour, lines }: DomainHour): LinesOfStep {
  return { domain_id: domain, hour: new Date(hour * HOUR_MS).toISOString(), lines }
}

/** Joins the hours of each day, because a statement must not change a row twice. */
function linesOfDays(hours: readonly DomainHour[]): LinesOfStep[] {
  const days = new Map<string, LinesOfStep>()
  for (const { domain, hour, lines } of hours) {
    const day = dayOf(hour)
    const name = `${domain} ${day}`
    const ofDay = days.get(name) ?? { domain_id: domain, day, lines: new Map<number, Line>() }
    days.set(name, ofDay)
    for (const [key, line] of lines) {
      const sum = ofDay.lines.get(key) ?? new Line()
      ofDay.lines.set(key, sum)
      sum.addAll(line)
    }
  }
  return [...days.values()]
}

function dayOf(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString().slice(0, 10)
}

/** The row with the path '' counts visits to paths that are not kept. */
const OTHERS = { verdict: '', status: 0, markdown: 0, cards: 0 }

type AddedPath = { domain_id: DomainId; day: string; is_new: boolean }

async function addPaths(client: Queryable, hours: readonly DomainHour[]): Promise<AddedPath[]> {
  const rows = hours.flatMap(({ domain, hour, top, failing }) =>
    [top, failing].flatMap((hitters) => {
      const columns = { domain_id: domain, day: dayOf(hour), is_failing: hitters === failing }
      const paths: object[] = [...hitters.paths].map(([path, hitter]) => ({ ...columns, path, ...hitter }))
      if (hitters.others > 0) paths.push({ ...columns, path: '', ...OTHERS, visits: hitters.others })
      return paths
    }),
  )
  if (rows.length === 0) return []
  const statement = { name: 'traffic-add-paths', text: ADD_PATHS, values: [JSON.stringify(rows)] }
  return (await client.query<AddedPath>(statement)).rows
}

function withoutLastZeros({ times }: Line): number[] {
  return [...times.subarray(0, times.findLastIndex((count) => count > 0) + 1)]
}
