/**
 * `node bench/growth.ts [traffic] [visits] [notifications] [--check] [--postgres 15] [--domains 10000]`
 * Measures what grows with hits and renders, each part on an own durable PostgreSQL: processor time and WAL for counting
 * traffic, processor time for the last visits of hot pages, and stored pages a second with a synchronous standby and 20
 * listeners. `--postgres`: Debian's server of this version instead of the packaged one. With `--check` the exit status is 1
 * if a goal is missed.
 */
import { parseArgs } from 'node:util'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { Notices } from '@prepaint/pages/queue/jobs/notices.ts'
import { LastVisits } from '@prepaint/pages/store/last-visits.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import { createPool } from '@prepaint/postgres/database.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { foldMinutes } from '@prepaint/service/insight/traffic/fold.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import pg from 'pg'
import { SCHEMA } from '../bin/node/schema.ts'
import { type Keeping, keepPages } from '../packages/pages/src/store/keep-page.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { MeasuredServer } from './measured-server.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: 'boolean', default: false },
    postgres: { type: 'string' },
    domains: { type: 'string', default: '10000' },
  },
})
const PARTS = { traffic, visits, notifications } as const
type Part = keyof typeof PARTS
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MIB = 1_048_576

/** Each domain has 24 counters a minute, with some visits each, of a hit's and a render's time. */
const AGENTS = [
  'Googlebot/2.1',
  'bingbot/2.0',
  'YandexBot/3.0',
  'GPTBot/1.2',
  'ClaudeBot/1.0',
  'PerplexityBot/1.0',
  'AhrefsBot/7.0',
  'SemrushBot/7',
]
const VERDICTS = [
  { verdict: 'hit', seconds: 0.000_1, visits: 5 },
  { verdict: 'stale', seconds: 0.000_15, visits: 2 },
  { verdict: 'rendered', seconds: 0.8, visits: 1 },
] as const

const HOT_PAGES = 20_000
const FLUSHES = 12

const STORED_PAGES = 10_000
const STORED_DOMAINS = 100
const STORED_AT_ONCE = 10
const LISTENERS = 20
const BODY = Buffer.alloc(10_000, 'x')

type Figure = { what: string; measured: number; goal: number; isMost: boolean; unit: string }

const wanted = positionals.length === 0 ? (Object.keys(PARTS) as Part[]) : (positionals as Part[])
const figures: Figure[] = []
let version = ''
for (const part of wanted) figures.push(...(await PARTS[part]()))
console.log(`${new Date().toISOString().slice(0, 10)}, PostgreSQL ${version}, ${machineLine()}\n`)
console.log(
  markdownTable(
    ['figure', 'measured', 'goal'],
    figures.map(({ what, measured, goal, isMost, unit }) => [
      what,
      `${measured.toFixed(measured < 10 ? 2 : 0)} ${unit}`,
      `${isMost ? 'at most' : 'at least'} ${goal} ${unit}`,
    ]),
  ),
)
const missed = figures.filter(({ measured, goal, isMost }) =>
  isMost ? !(measured <= goal) : !(measured >= goal),
)
for (const { what } of missed) console.log(`MISSED ${what}`)
if (values.check && missed.length > 0) process.exitCode = 1

async function withServer<T>(use: (server: MeasuredServer, pool: pg.Pool) => Promise<T>): Promise<T> {
  const server = await MeasuredServer.start(values.postgres ?? null)
  const pool = createPool(server.connection, silentLog())
  try {
    await migrate(server.connection, SCHEMA, silentLog())
    const { rows } = await pool.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    version = rows[0]!.version
    return await use(server, pool)
  } finally {
    if (!pool.ended) await pool.end()
    await server.close()
  }
}

async function addDomains(pool: pg.Pool, count: number): Promise<DomainId[]> {
  const { rows } = await pool.query<{ id: DomainId }>(
    `with owner as (insert into account (email, plan) values ('a@example.com', 'pro') returning id)
     insert into domain (account_id, custom_domain, origin_url)
     select owner.id, 'd' || n || '.example.com', 'http://origin.example.com' from owner, generate_series(1, $1::integer) n
     returning id`,
    [count],
  )
  return rows.map(({ id }) => id)
}

/** Ten minutes, counted by one node as fast as it can, with two folds, and a checkpoint in the middle of each five. */
async function traffic(): Promise<Figure[]> {
  return withServer(async (server, pool) => {
    const domains = await addDomains(pool, Number(values.domains))
    const hourMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS
    let nowMs = hourMs
    const counter = new TrafficCounter(
      pool,
      new VisitedNotices(pool, silentLog()),
      { nowMs: () => nowMs },
      silentLog(),
      { flushEveryMs: 24 * HOUR_MS },
    )
    let isMeasured = false
    const flushes: number[] = []
    const folds: number[] = []
    const timed = async (into: number[], act: () => Promise<unknown>) => {
      const beforeMs = server.cpuMs()
      await act()
      if (isMeasured) into.push(server.cpuMs() - beforeMs)
    }
    const fiveMinutes = async () => {
      for (let minute = 0; minute < 5; minute++) {
        for (const domain of domains) countMinute(counter, domain)
        await timed(flushes, () => counter.flush())
        nowMs += MINUTE_MS
        if (minute === 2) await pool.query('checkpoint')
      }
      await timed(folds, () => foldMinutes(pool))
    }
    // The rows of the hour and the day are there.
    await fiveMinutes()
    await pool.query('vacuum')
    isMeasured = true
    const cpuBeforeMs = server.cpuMs()
    const walBefore = await server.walBytes()
    for (let fold = 0; fold < 2; fold++) await fiveMinutes()
    await pool.query('vacuum')
    const cpuMs = (server.cpuMs() - cpuBeforeMs) / 10
    const wal = ((await server.walBytes()) - walBefore) / 10
    console.error(
      `flush: ${median(flushes).toFixed(0)} ms of PostgreSQL, fold: ${median(folds).toFixed(0)} ms`,
    )
    await counter.close()
    const what = `${domains.length} domains with 24 counters`
    return [
      { what: `${what}: PostgreSQL a minute`, measured: cpuMs / 1_000, goal: 1, isMost: true, unit: 's' },
      { what: `${what}: WAL a minute`, measured: wal / MIB, goal: 25, isMost: true, unit: 'MiB' },
    ]
  })
}

function countMinute(counter: TrafficCounter, domain: DomainId): void {
  const site = { id: domain, query: 'keep' } as const
  const page = pageId(domain, '/' as PagePath)
  for (const agent of AGENTS) {
    const request = { headers: { 'user-agent': agent } }
    for (const { verdict, seconds, visits } of VERDICTS) {
      for (let visit = 0; visit < visits; visit++) {
        // Times vary from visit to visit, by up to a half.
        const taken = seconds * (1 + ((domain * 7 + visit * 13 + agent.length) % 10) / 20)
        counter.count(request, {
          verdict,
          crawler: 'search',
          seconds: taken,
          status: 200,
          domain: site,
          page,
        })
      }
    }
  }
}

/** Crawlers ask for each of 20,000 pages every five seconds, for a minute. */
async function visits(): Promise<Figure[]> {
  return withServer(async (server, pool) => {
    const [domain] = await addDomains(pool, 1)
    const lastVisits = new LastVisits(pool, new VisitedNotices(pool, silentLog()), silentLog())
    const startMs = Date.now()
    const flush = async (number: number) => {
      const beforeMs = server.cpuMs()
      for (let page = 0; page < HOT_PAGES; page++) {
        const visited = pageId(domain!, `/page-${page}` as PagePath)
        lastVisits.note({
          page: visited,
          crawler: 'Googlebot',
          category: 'search',
          atMs: startMs + number * 5_000,
        })
      }
      await lastVisits.flush()
      return server.cpuMs() - beforeMs
    }
    const firstMs = await flush(0)
    const rowsAt = async () => (await pool.query('select path, xmin from last_visit order by path')).rows
    const before = await rowsAt()
    const cpuMs: number[] = []
    for (let number = 1; number <= FLUSHES; number++) cpuMs.push(await flush(number))
    const after = await rowsAt()
    const rewritten = after.filter(({ xmin }, at) => xmin !== before[at]?.xmin).length
    console.error(`the first flush, of ${before.length} rows: ${firstMs.toFixed(0)} ms of PostgreSQL`)
    await lastVisits.close()
    const mean = cpuMs.reduce((sum, each) => sum + each, 0) / cpuMs.length
    return [
      {
        what: `${HOT_PAGES} hot pages: PostgreSQL a flush`,
        measured: mean / 1_000,
        goal: 0.1,
        isMost: true,
        unit: 's',
      },
      {
        what: `${HOT_PAGES} hot pages: rows written again within the hour`,
        measured: rewritten,
        goal: 0,
        isMost: true,
        unit: '',
      },
    ]
  })
}

/** Ten at a time store 10,000 pages of 100 domains, each in its own transaction, as renders end. */
async function notifications(): Promise<Figure[]> {
  return withServer(async (server, firstPool) => {
    const domains = await addDomains(firstPool, STORED_DOMAINS)
    await firstPool.end()
    await server.addStandby()
    const pool = createPool(server.connection, silentLog())
    const listeners = await Promise.all(
      Array.from({ length: LISTENERS }, async () => {
        const client = new pg.Client(server.connection)
        await client.connect()
        await client.query('listen invalidate; listen job_done')
        return client
      }),
    )
    const heard = listeners.map(() => 0)
    for (const [at, client] of listeners.entries()) client.on('notification', () => heard[at]!++)
    const { rows: jobs } = await pool.query<{ id: JobId; domain: DomainId }>(
      `insert into job (domain_id, account_id, path, priority, state, turn, attempts, node, lease_until, started_at)
       select d, (select min(id) from account), '/' || n, 1, 'running', n, 1, 'bench', now() + interval '1 hour', now()
         from unnest($1::integer[]) with ordinality as each (d, at), generate_series(1, $2::integer / $3::integer) n
       returning id, domain_id as domain`,
      [domains, STORED_PAGES, STORED_DOMAINS],
    )
    const notices = new Notices(pool, silentLog())
    const left = jobs[Symbol.iterator]()
    const startedMs = performance.now()
    const storeNext = async () => {
      for (const { id, domain } of left) {
        const [result] = await keepPages(pool, [renderedPage(id, domain)], ({ job, page, storedMs }) => {
          notices.pageStored(page, storedMs)
          notices.jobEnded(job, false)
        })
        if (result !== 'stored') throw new Error(`a page was not stored: ${result}`)
      }
    }
    await Promise.all(Array.from({ length: STORED_AT_ONCE }, storeNext))
    const seconds = (performance.now() - startedMs) / 1_000
    await notices.close()
    console.error(
      `${notices.commits} notifying commits, ${heard[0]} notifications heard by the first listener`,
    )
    for (const client of listeners) await client.end()
    await pool.end()
    return [
      {
        what: 'synchronous standby, 20 listeners: stored pages a second',
        measured: STORED_PAGES / seconds,
        goal: 1_000,
        isMost: false,
        unit: '',
      },
      {
        what: 'stored pages for each notifying commit',
        measured: STORED_PAGES / notices.commits,
        goal: 10,
        isMost: false,
        unit: '',
      },
    ]
  })
}

function renderedPage(id: JobId, domain: DomainId): Keeping {
  return {
    job: { id, node: 'bench', attempts: 1 },
    domain,
    body: { at: 'row' },
    page: {
      status: 200,
      headers: [['content-type', 'text/html']],
      body: { bodyBr: BODY, htmlBytes: 40_000, etag: `"${id}"`, ownMarkdown: false, bodyHtml: BODY },
      readingBr: Buffer.alloc(1_000),
      textChars: 5_000,
      application: null,
      outcome: 'rendered',
    },
    terms: { probe: null, limit: 1_000_000, nowMs: Date.now() },
  }
}
