/**
 * `node bench/queue.ts [--jobs 1000000]`. Exits with status 1 if a goal is missed. Last figures: docs/decisions/0005-queue.md.
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { QueueWorker } from '@prepaint/pages/queue/jobs/worker.ts'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { SCHEMA } from '../bin/node/schema.ts'
import { Claims } from '../packages/pages/src/queue/jobs/claim.ts'
import { machineLine, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'

const DOMAINS = 1_000
const { values: asked } = parseArgs({
  options: {
    jobs: { type: 'string', default: '1000000' },
  },
})
const SIZES = [0, 1_000, 10_000, 100_000, 1_000_000].filter((size) => size <= Number(asked.jobs))
/** Goals. `CLAIM_TIMES`: claim time with the most jobs, relative to 1,000 jobs. */
const PICK_UP_MS = 10
const CLAIM_TIMES = 2
const LIVE_JOBS = 300
/** The largest size exceeds the queue's own limit. */
const ANY_BOUND = 100_000_000
/** A statement may take 30 s. */
const FILL_STEP = 50_000
const WARM_RENDER_MS = 15
const HTML = '<p>page</p>'.repeat(1_000)
const RENDERED: RenderOutcome = {
  kind: 'rendered',
  status: 200,
  headers: [],
  html: HTML,
  reading: readPage(HTML, 'https://d1.example/'),
}

const log = silentLog()
const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
// As root, PostgreSQL runs as another user, who must be able to enter this directory.
await chmod(dataDir, 0o711)
const database = await openDatabase({ databaseUrl: null, dataDir, log })
const { pool, connection } = database
await migrate(connection, SCHEMA, log)
const { rows } = await pool.query<{ id: DomainId }>(
  `with owner as (insert into account (email, plan) values ('bench@example.com', 'enterprise') returning id)
   insert into domain (account_id, custom_domain, origin_url)
   select owner.id, 'd' || n || '.example', 'https://origin.example' from owner, generate_series(0, $1) n returning id`,
  [DOMAINS],
)
const [crawled, ...domains] = rows.map(({ id }) => id) as [DomainId, ...DomainId[]]
console.log(
  `${machineLine()}, PostgreSQL ${(await pool.query('show server_version')).rows[0].server_version}`,
)

console.log('\na live job, ms p50 / p95')
console.log('warm jobs queued    until its render begins    until its asker hears of its end')
const listener = await createListener(connection, log)
const waiter = new JobWaiter(listener, pool, log)
const pickUps = new Map<number, number>()
for (const size of SIZES) pickUps.set(size, await live(size))

console.log('\na claim of one job and a bulk of 1,000 paths in a transaction, ms p50 / p95')
console.log('warm jobs queued    claim    claim past a capped domain with half of them    bulk')
const claimed = new Map<number, number>()
for (const size of SIZES) claimed.set(size, await claims(size))

waiter.close()
await listener.close()
await database.close()
await rm(dataDir, { recursive: true })
judge()

function judge(): void {
  const most = SIZES.at(-1)!
  const pickUp = pickUps.get(Math.min(100_000, most))!
  const claimTimes = claimed.get(most)! / claimed.get(Math.min(1_000, most))!
  const rows: [what: string, aim: string, found: string, isMet: boolean][] = [
    [
      `pick-up of a live job beside ${Math.min(100_000, most).toLocaleString('en')} queued, median`,
      `at most ${PICK_UP_MS} ms`,
      `${pickUp.toFixed(1)} ms`,
      pickUp <= PICK_UP_MS,
    ],
    [
      `a claim with ${most.toLocaleString('en')} queued over ${DOMAINS.toLocaleString('en')} domains, against 1,000, median`,
      `at most ${CLAIM_TIMES} times`,
      `${claimTimes.toFixed(2)} times`,
      claimTimes <= CLAIM_TIMES,
    ],
  ]
  const cells = rows.map(([what, aim, found, isMet]) => [what, aim, found, isMet ? 'yes' : 'NO'])
  console.log(`\n${markdownTable(['what', 'aim', 'found', 'met'], cells, 1)}`)
  if (rows.some(([, , , isMet]) => !isMet)) process.exitCode = 1
}

async function live(size: number): Promise<number> {
  await fill(size)
  const begun = new Map<string, number>()
  const worker = await QueueWorker.start(
    {
      ...{ pool, connection, log, notifications: listener, plans: DEFAULT_PLANS, clock: systemClock },
      canRender: () => true,
      async render({ path: page }) {
        if (page.startsWith('/live')) begun.set(page, performance.now())
        else await sleep(WARM_RENDER_MS)
        return { outcome: RENDERED, record: null }
      },
    },
    { node: randomUUID(), slots: 4 },
  )
  await listener.settled()
  const begunAfter: number[] = []
  const rounds: number[] = []
  for (let i = 0; i < LIVE_JOBS; i++) {
    const page = `/live${size}-${i}` as PagePath
    const startMs = performance.now()
    const [job] = await enqueue(pool, crawled, [page], 'live')
    await waiter.wait(job!.jobId, AbortSignal.timeout(10_000))
    rounds.push(performance.now() - startMs)
    begunAfter.push(begun.get(page)! - startMs)
    await sleep(5)
  }
  await worker.close(1_000)
  console.log(`${String(size).padStart(16)}    ${figures(begunAfter).padEnd(23)}    ${figures(rounds)}`)
  return percentile(begunAfter, 0.5)
}

async function claims(size: number): Promise<number> {
  await fill(size)
  const claims = new Claims(pool, DEFAULT_PLANS, randomUUID(), {
    ...{ accountCap: 3, domainCap: 4, domainBackgroundCap: 4, leaseMs: 60_000, liveWaitMs: 10_000 },
  })
  const one = async () => {
    const jobs = await claims.claim({ slots: 1, backgroundSlots: 1, occupied: [] }, systemClock.nowMs())
    return async () => {
      await pool.query(`update job set state = 'done', finished_at = now() where id = any ($1)`, [
        jobs.map(({ id }) => id),
      ])
    }
  }
  const plain = await timed(200, one)
  // A slow site at its cap, first in line, with as many jobs as all others together.
  await insert(domains[0]!, size / 2, '/capped', -size)
  await pool.query(
    `update job set state = 'running', lease_until = now() + interval '1 hour', node = 'bench'
      where id in (select id from job where state = 'queued' and domain_id = $1 order by turn limit 4)`,
    [domains[0]],
  )
  const capped = await timed(200, one)
  let bulks = 0
  const bulk = await timed(20, async () => {
    const paths = Array.from({ length: 1_000 }, (_, n) => `/bulk${bulks}-${n}` as PagePath)
    await transaction(pool, (client) =>
      enqueue(client, domains[++bulks]!, paths, 'refresh', { bound: ANY_BOUND }),
    )
    return async () => {}
  })
  console.log(
    `${String(size).padStart(16)}    ${figures(plain).padEnd(15)}  ${figures(capped).padEnd(15)}  ${figures(bulk)}`,
  )
  return percentile(plain, 0.5)
}

/** Milliseconds of each call. The returned cleanup function is not measured. */
async function timed(times: number, call: () => Promise<() => Promise<void>>): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const startMs = performance.now()
    const tidy = await call()
    took.push(performance.now() - startMs)
    await tidy()
  }
  return took
}

async function fill(size: number): Promise<void> {
  await pool.query('truncate job, unstored_page')
  for (let from = 0; from < size; from += FILL_STEP) {
    await pool.query(
      `insert into job (domain_id, account_id, path, priority, turn)
       select domain.id, domain.account_id, '/p' || n, 2, n / $2
         from generate_series($3::integer, $4) n join domain on domain.id = ($1::integer[])[1 + n % $2]`,
      [domains, DOMAINS, from, Math.min(from + FILL_STEP, size) - 1],
    )
  }
}

async function insert(domain: DomainId, count: number, prefix: string, turn: number): Promise<void> {
  for (let from = 0; from < count; from += FILL_STEP) {
    await pool.query(
      `insert into job (domain_id, account_id, path, priority, turn)
       select id, account_id, $2 || n, 2, $4::integer + n
         from domain, generate_series($3::integer, $5) n where id = $1`,
      [domain, prefix, from, turn, Math.min(from + FILL_STEP, count) - 1],
    )
  }
}

function figures(took: number[]): string {
  return `${percentile(took, 0.5).toFixed(1)} / ${percentile(took, 0.95).toFixed(1)}`
}
