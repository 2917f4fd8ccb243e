import { stepOf } from '@prepaint/contract/traffic/time-range.ts'
import { openDatabase } from '@prepaint/postgres/database.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { foldMinutes } from '@prepaint/service/insight/traffic/fold.ts'
import type pg from 'pg'
import {
  type PackedLine,
  packRow,
  totalsOf,
} from '../../packages/service/src/insight/traffic/packed-lines.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Visits per hour of an ordinary day, and the shares of verdicts. */
const CRAWLERS = [
  { name: 'Googlebot', category: 'search', visits: 140 },
  { name: 'Bingbot', category: 'search', visits: 60 },
  { name: 'YandexBot', category: 'search', visits: 14 },
  { name: 'GPTBot', category: 'ai', visits: 70 },
  { name: 'ClaudeBot', category: 'ai', visits: 45 },
  { name: 'PerplexityBot', category: 'ai', visits: 18 },
  { name: 'ChatGPT-User', category: 'ai', visits: 9 },
  { name: 'Facebook', category: 'social', visits: 22 },
  { name: 'WhatsApp', category: 'social', visits: 8 },
  { name: 'AhrefsBot', category: 'seo', visits: 30 },
  { name: 'SemrushBot', category: 'seo', visits: 24 },
  { name: 'other', category: 'other', visits: 11 },
]
const ENDS = [
  { verdict: 'hit', share: 0.83, seconds: 0.000_09 },
  { verdict: 'stale', share: 0.05, seconds: 0.000_12 },
  { verdict: 'rendered', share: 0.045, seconds: 0.35 },
  { verdict: 'pass; timed-out', share: 0.006, seconds: 11 },
  { verdict: 'pass; late', share: 0.003, seconds: 10.4 },
  { verdict: 'pass; asset', share: 0.05, seconds: 0.06 },
  { verdict: 'sitemap', share: 0.016, seconds: 0.002 },
]

export async function seedTraffic(dataDir: string, domain: string): Promise<void> {
  const database = await openDatabase({ databaseUrl: null, dataDir, log: silentLog(), attach: true })
  try {
    const { rows } = await database.pool.query<{ id: number }>(
      'select id from domain where custom_domain = $1',
      [domain],
    )
    await seed(database.pool, rows[0]!.id, Date.now())
  } finally {
    await database.close()
  }
}

async function seed(pool: pg.Pool, domain: number, nowMs: number): Promise<void> {
  const random = createRandom()
  const around = (value: number) => Math.round(value * (0.7 + 0.6 * random()))
  const rows: Row[] = []
  for (let hour = Math.floor(nowMs / HOUR_MS) * HOUR_MS; hour > nowMs - 90 * DAY_MS; hour -= HOUR_MS) {
    const at = new Date(hour)
    // Crawlers visit at night, people by day; both grow; on one day the origin was slow.
    const daily = 1 + 0.4 * Math.cos(((at.getUTCHours() - 3) / 24) * 2 * Math.PI)
    const age = (nowMs - hour) / (90 * DAY_MS)
    const isBad = hour > nowMs - 15 * HOUR_MS && hour < nowMs - 11 * HOUR_MS
    for (const { name, category, visits } of CRAWLERS) {
      const growth = category === 'ai' ? 1 - 0.8 * age : 1 - 0.3 * age
      for (const { verdict, share, seconds } of ENDS) {
        const worse = isBad && verdict.startsWith('pass; t') ? 25 : isBad && verdict === 'hit' ? 0.85 : 1
        const count = around((visits * daily * growth * share * worse) / 6 + random() * 0.5)
        if (count === 0) continue
        rows.push({
          at,
          category,
          crawler: name,
          verdict,
          visits: count,
          times: spread(count, seconds, random),
        })
      }
    }
    const people = around(400 * (2 - daily))
    const verdict = 'pass; not-a-crawler'
    rows.push({
      at,
      category: 'people',
      crawler: '',
      verdict,
      visits: people,
      times: spread(people, 0.08, random),
    })
  }
  await insertLines(pool, domain, rows)
  await seedPaths(pool, domain)
  await pool.query(
    `insert into traffic_last values ($1, 'Googlebot', 'search', $2)
     on conflict (domain_id) do update set crawler = excluded.crawler, category = excluded.category`,
    [domain, new Date(nowMs - 40_000)],
  )
  const today = Math.floor(nowMs / DAY_MS)
  await pool.query(`update domain set created_at = $2 where id = $1`, [
    domain,
    new Date(nowMs - 200 * DAY_MS),
  ])
  await pool.query(
    `insert into render_day select $1, day, renders from unnest($2::date[], $3::integer[]) as n (day, renders)
     on conflict (domain_id, day) do update set renders = excluded.renders`,
    [
      domain,
      Array.from({ length: 40 }, (_, at) => new Date((today - at) * DAY_MS)),
      Array.from({ length: 40 }, (_, at) => (at === 9 ? 9_400 : around(at === 0 ? 500 : 900))),
    ],
  )
  await pool.query(
    `update render_count c set renders = (select sum(renders) from render_day d
       where d.domain_id = $1 and date_trunc('month', d.day) = c.month) where domain_id = $1`,
    [domain],
  )
}

type Row = { at: Date; category: string; crawler: string; verdict: string; visits: number; times: number[] }

/** Writes the lines as a node that counted them all in the first minute of their hour, and adds them up. */
async function insertLines(pool: pg.Pool, domain: number, rows: readonly Row[]): Promise<void> {
  const hours = [...Map.groupBy(rows, ({ at }) => at.getTime())].map(([ms, ofHour]) => {
    const lines = ofHour.map(
      ({ category, crawler, verdict, visits, times }): PackedLine => [
        ...([category, crawler, verdict, `1=${times.join()}`] as const),
        ...[visits, Math.floor(visits / 20), Math.floor(visits / 90)],
      ],
    )
    return { at: new Date(ms), lines, ...totalsOf(lines) }
  })
  await pool.query(
    `insert into traffic_minute (minute, node, flush, domain_id, lines, pages, hits)
     select at, gen_random_uuid(), 1, $1, lines, pages, hits
       from unnest($2::timestamptz[], $3::jsonb[], $4::integer[], $5::integer[]) as n (at, lines, pages, hits)`,
    [
      domain,
      hours.map(({ at }) => at),
      hours.map(({ lines }) => JSON.stringify(packRow(lines))),
      hours.map(({ pages }) => pages),
      hours.map(({ hits }) => hits),
    ],
  )
  await foldMinutes(pool)
}

async function seedPaths(pool: Queryable, domain: number): Promise<void> {
  const top = ['/', '/about', '/products/1', '/products/27?colour=green&size=large', '/products/3']
  const many = Array.from({ length: 30 }, (_, at) => `/products/${at + 30}`)
  const failing = [
    ['/search?q=watering+can', 'pass; timed-out', 200],
    ['/missing', 'rendered', 404],
    ['/broken', 'pass; origin-error', 500],
  ] as const
  await pool.query(
    `insert into traffic_path
     select $1, (now() at time zone 'UTC')::date - day, false, path, (4000 / (rank * (day + 3)))::bigint, 'hit', 200
       from generate_series(0, 20) as day, unnest($2::text[]) with ordinality as p (path, rank)`,
    [domain, [...top, ...many]],
  )
  await pool.query(
    `insert into traffic_path
     select $1, (now() at time zone 'UTC')::date, true, path, visits, verdict, status
       from unnest($2::text[], $3::bigint[], $4::text[], $5::smallint[]) as p (path, visits, verdict, status)`,
    [
      domain,
      failing.map(([path]) => path),
      [48, 17, 3],
      failing.map(([, verdict]) => verdict),
      failing.map(([, , status]) => status),
    ],
  )
  await pool.query(
    `insert into traffic_path values ($1, (now() at time zone 'UTC')::date, false, '', 214, '', 0)`,
    [domain],
  )
}

function spread(count: number, seconds: number, random: () => number): number[] {
  const times: number[] = []
  for (let at = 0; at < count; at++) {
    const step = stepOf(seconds * Math.exp(1.6 * (random() + random() + random() - 1.4)))
    times[step] = (times[step] ?? 0) + 1
  }
  return Array.from(times, (each) => each ?? 0)
}

/** Repeatable random numbers (mulberry32). */
function createRandom(): () => number {
  let state = 7
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
