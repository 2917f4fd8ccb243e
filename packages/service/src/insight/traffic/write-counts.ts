import { utcDay } from '@prepaint/contract/dates.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import type { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { packLine, packRow, totalsOf } from './packed-lines.ts'
import { PathTrimmer } from './retention.ts'
import { type DomainMinute, MINUTE_MS, type VisitCounts } from './visit-counts.ts'

/** Returns no row if the flush was already written, but the result of its commit was lost. */
const FENCE = `
  insert into traffic_flush as f (node, flush, at) values ($1, $2, $3)
  on conflict (node) do update set flush = excluded.flush, at = excluded.at
    where f.flush < excluded.flush`

const ADD_MINUTES = `
  insert into traffic_minute (minute, node, flush, domain_id, lines, pages, hits, visits, failed)
  select minute, $1, $2, domain_id, lines, pages, hits, visits, failed
    from unnest($3::timestamptz[], $4::integer[], $5::jsonb[], $6::integer[], $7::integer[], $8::integer[], $9::integer[])
         as n (minute, domain_id, lines, pages, hits, visits, failed)`

/** Rows of a statement. Making its parameters takes about 5 ms, in which the node answers no request. */
const ROWS_AT_ONCE = 500

// A flush may have a path in several minutes, the newest of them last.
const ADD_PATHS = `
  insert into traffic_path as t (domain_id, day, is_failing, path, visits, verdict, status, markdown, cards)
  select domain_id, day, is_failing, path, sum(visits), (array_agg(verdict order by at desc))[1],
         (array_agg(status order by at desc))[1], sum(markdown), sum(cards)
    from unnest($1::integer[], $2::date[], $3::boolean[], $4::text[], $5::bigint[], $6::text[], $7::smallint[], $8::bigint[], $9::bigint[])
         with ordinality as n (domain_id, day, is_failing, path, visits, verdict, status, markdown, cards, at)
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
    from unnest($1::integer[], $2::text[], $3::text[], $4::timestamptz[]) as n (domain_id, crawler, category, seen_at)
   where exists (select from domain where id = domain_id)
   order by domain_id
  on conflict (domain_id) do update set
    crawler = excluded.crawler, category = excluded.category, seen_at = excluded.seen_at
    where t.seen_at < excluded.seen_at`

/** Writes flushes of counts for one life of a process. */
export class CountsWriter {
  readonly #pool: pg.Pool
  readonly #node: string
  readonly #counts: VisitCounts
  readonly #visited: VisitedNotices
  readonly #pathTrimmer: PathTrimmer

  /** `counts` are those from which the flushes are taken. */
  constructor(pool: pg.Pool, node: string, counts: VisitCounts, visited: VisitedNotices) {
    this.#pool = pool
    this.#node = node
    this.#counts = counts
    this.#visited = visited
    this.#pathTrimmer = new PathTrimmer(pool)
  }

  /** Adds a flush in one transaction. `flush` increases with each; one that was already written is skipped. */
  async write(flush: number, minutes: readonly DomainMinute[], nowMs: number): Promise<void> {
    const addedPaths = await retriedTransaction(this.#pool, async (client) => {
      const { rowCount } = await client.query(FENCE, [this.#node, flush, new Date(nowMs)])
      if (rowCount === 0) return []
      await this.#addMinutes(client, flush, minutes)
      await client.query('select note_live($1)', [domainsAnswered(minutes)])
      const paths = await addPaths(client, minutes)
      await this.#addLast(client, minutes)
      return paths
    })
    this.#visited.add(minutes.map(({ domain }) => domain))
    await this.#pathTrimmer.trim(addedPaths)
  }

  async #addMinutes(client: Queryable, flush: number, minutes: readonly DomainMinute[]): Promise<void> {
    const counted = minutes.filter(({ lines }) => lines.size > 0)
    for (let from = 0; from < counted.length; from += ROWS_AT_ONCE) {
      const rows = counted.slice(from, from + ROWS_AT_ONCE).map((minute) => this.#pack(minute))
      await client.query({
        name: 'traffic-add-minutes',
        text: ADD_MINUTES,
        values: [
          this.#node,
          flush,
          rows.map(({ startsAt }) => startsAt),
          rows.map(({ domain }) => domain),
          rows.map(({ lines }) => JSON.stringify(packRow(lines))),
          rows.map(({ pages }) => pages),
          rows.map(({ hits }) => hits),
          rows.map(({ visits }) => visits),
          rows.map(({ failed }) => failed),
        ],
      })
    }
  }

  #pack({ domain, minute, lines: counted }: DomainMinute) {
    const lines = [...counted].map(([key, line]) => packLine(this.#counts.nameOf(key), line))
    const { pages, hits, visits, failed } = totalsOf(lines)
    return { domain, startsAt: new Date(minute * MINUTE_MS), lines, pages, hits, visits, failed }
  }

  async #addLast(client: Queryable, minutes: readonly DomainMinute[]): Promise<void> {
    const last = new Map<DomainId, { crawler: string; category: string; seenAt: Date }>()
    for (const { domain, lastKey, lastMs } of minutes) {
      if (lastKey === -1) continue
      const { crawler, category } = this.#counts.nameOf(lastKey)
      last.set(domain, { crawler, category, seenAt: new Date(lastMs) })
    }
    if (last.size === 0) return
    await client.query({
      name: 'traffic-add-last',
      text: ADD_LAST,
      values: [
        [...last.keys()],
        [...last.values()].map(({ crawler }) => crawler),
        [...last.values()].map(({ category }) => category),
        [...last.values()].map(({ seenAt }) => seenAt),
      ],
    })
  }
}

/** Returns the domains that answered a request with a status below 500. */
function domainsAnswered(minutes: readonly DomainMinute[]): DomainId[] {
  const answered = minutes.filter(({ lines }) =>
    [...lines.values()].some(({ visits, status_5xx, unanswered }) => visits > status_5xx + unanswered),
  )
  return [...new Set(answered.map(({ domain }) => domain))]
}

type PathCount = {
  domain: DomainId
  day: string
  isFailing: boolean
  path: string
  visits: number
  verdict: string
  status: number
  markdown: number
  cards: number
}

/** The row with the path '' counts visits to paths that are not kept. */
const OTHERS = { path: '', verdict: '', status: 0, markdown: 0, cards: 0 }

type AddedPath = { domain_id: DomainId; day: string; is_new: boolean }

async function addPaths(client: Queryable, minutes: readonly DomainMinute[]): Promise<AddedPath[]> {
  const rows: PathCount[] = []
  for (const { domain, minute, top, failing } of minutes) {
    for (const hitters of [top, failing]) {
      const columns = { domain, day: utcDay(minute * MINUTE_MS), isFailing: hitters === failing }
      for (const [path, hitter] of hitters.paths) rows.push({ ...columns, path, ...hitter })
      if (hitters.others > 0) rows.push({ ...columns, ...OTHERS, visits: hitters.others })
    }
  }
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
