/**
 * `node bench/claims.ts [--check] [--only rate,turns,caps,live] [--jobs 1000000] [--claims 100000]`. With `--check` it exits with
 * status 1 if a goal is missed. Last figures: bench/RESULTS.md.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { enqueue, enqueueLive } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { Notices } from '@prepaint/pages/queue/jobs/notices.ts'
import { QueueWorker } from '@prepaint/pages/queue/jobs/worker.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { SCHEMA } from '../bin/node/schema.ts'
import { Claims } from '../packages/pages/src/queue/jobs/claim.ts'
import { emptyTables } from '../test/support/database.ts'
import { CAPS, type NodeReport, type NodeTask } from './claims-task.ts'
import { machineLine, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { treeCpuMs } from './tree-meter.ts'

const { values: asked } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    only: { type: 'string', default: 'rate,turns,caps,live' },
    jobs: { type: 'string', default: '1000000' },
    claims: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '10' },
  },
})
const parts = new Set(asked.only.split(','))
const MOST_JOBS = Number(asked.jobs)
const CLAIMS = Number(asked.claims)
const SECONDS = Number(asked.seconds)

const NODES = 4
const CLAIMS_AT_ONCE = 2
/** Running renders, and the least claims a second. */
const RATES = [
  { running: 0, goal: null },
  { running: 1_500, goal: 1_000 },
  { running: 5_000, goal: 500 },
] as const
const ONE_ACCOUNT_GOAL = 400
const TURN_JOBS = 200_000
const TURN_SECONDS = 30
const TURN_WINDOW_TENTHS = 100
const TURN_DIFFERENCE = 0.2
const KILLED_NODES = 8
const KILLS = 50
const LIVE_JOBS = 300
/** The first ones wait for connections and for compiled code, as in the first second of a node. */
const FIRST_LIVE_JOBS = 20
const LIVE_MS = 50
const CLAIM_TIMES = 2
const RENDER_MS = 15
/** A statement may take 30 s. */
const FILL_STEP = 50_000
/** The largest size exceeds the queue's own limit. */
const ANY_BOUND = 100_000_000
const HTML = '<p>page</p>'.repeat(1_000)
const RENDERED: RenderOutcome = {
  kind: 'rendered',
  status: 200,
  headers: [],
  html: HTML,
  reading: readPage(HTML, 'https://d1.example/'),
}

const CAP_CHECK = `
  create table cap_exceeded (domain_id integer, priority smallint, running integer);
  create sequence cap_check_claims;
  create function check_cap() returns trigger language plpgsql as $$
  declare
    running integer;
  begin
    perform nextval('cap_check_claims');
    select count(*) into running from job where state = 'running' and not is_brought and domain_id = new.domain_id;
    if running > (case new.priority when 0 then ${CAPS.domainCap} else ${CAPS.domainBackgroundCap} end) then
      insert into cap_exceeded values (new.domain_id, new.priority, running);
    end if;
    return null;
  end
  $$;
  create trigger cap_check after update on job for each row
    when (old.state = 'queued' and new.state = 'running') execute function check_cap()`

const log = silentLog()
const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
// As root, PostgreSQL runs as another user, who must be able to enter this directory.
await chmod(dataDir, 0o711)
const database = await openDatabase({ databaseUrl: null, dataDir, log })
const { pool, connection } = database
await migrate(connection, SCHEMA, log)
const results: [what: string, goal: string, found: string, isMet: boolean][] = []
console.log(
  `${machineLine()}, PostgreSQL ${(await pool.query('show server_version')).rows[0].server_version}, load ${loadavg()[0]!.toFixed(1)}\n`,
)

if (parts.has('rate')) await measureRates()
if (parts.has('turns')) await measureTurns()
if (parts.has('caps')) await measureCaps()
if (parts.has('live')) await measureLive()

await database.close()
await rm(dataDir, { recursive: true })
const cells = results.map(([what, goal, found, isMet]) => [what, goal, found, isMet ? 'yes' : 'NO'])
console.log(
  `\n${markdownTable(['what', 'goal', 'found', 'met'], cells, 1)}\nload ${loadavg()[0]!.toFixed(1)}`,
)
if (asked.check && results.some(([, , , isMet]) => !isMet)) process.exitCode = 1

/** Claims a second of four nodes, each of which claims and ends one job at a time, while other jobs run. */
async function measureRates(): Promise<void> {
  for (const { running, goal } of RATES) {
    await clear()
    const domains = await addDomains(200, 25)
    await fill(domains, 100_000, 2)
    // They are at their cap for background work, and have jobs waiting too.
    const busy = domains.slice(0, Math.ceil(running / CAPS.domainBackgroundCap))
    await hold(busy, running)
    const { rate, found } = await runNodes(NODES, SECONDS)
    note(
      `claims a second, ${running.toLocaleString('en')} running`,
      goal === null ? '' : `${goal.toLocaleString('en')}`,
      found,
      goal === null || rate >= goal,
    )
  }
  await clear()
  await fill(await addDomains(1, 25), 50_000, 2)
  const alone = await runNodes(NODES, SECONDS)
  note(
    'claims a second of one account alone',
    `${ONE_ACCOUNT_GOAL}`,
    alone.found,
    alone.rate >= ONE_ACCOUNT_GOAL,
  )
}

/**
 * Accounts with one domain and one with 1,000, alone in their lanes and with others, each with more work than it gets: once as
 * fast as claims go, and once as slowly as a fleet renders.
 */
async function measureTurns(): Promise<void> {
  for (const [pace, pauseMs] of [
    ['as fast as claims go', 0],
    ['100 claims a second', 80],
  ] as const) {
    await clear()
    // Lane 1 gets one account, lane 2 eight, lane 3 three, and lane 4 the one with 1,000 domains.
    const lanes = [1, ...Array(8).fill(2), ...Array(3).fill(3)] as number[]
    const each = Math.ceil(TURN_JOBS / (lanes.length + 1))
    for (const lane of lanes) await fill(await addDomainsInLane(lane, 1), each, 2)
    await fill(await addDomainsInLane(4, 1_000), each, 2)
    const { reports, rate } = await runNodes(NODES, TURN_SECONDS, pauseMs)
    const most = greatestDifference(reports)
    note(
      `claims of ${lanes.length + 1} accounts in 4 lanes in any 10 s, to their mean (${pace}: ${rate.toFixed(0)} a second)`,
      `within ${TURN_DIFFERENCE * 100} %`,
      `${(most * 100).toFixed(1)} %`,
      most <= TURN_DIFFERENCE,
    )
  }
}

/** The greatest difference of an account from the mean of all, in any window of ten seconds. */
function greatestDifference(reports: readonly NodeReport[]): number {
  const all = reports.flatMap(({ byTime }) => byTime)
  const accounts = new Set(all.map(([, account]) => account))
  const tenths = all.map(([tenth]) => tenth)
  // The first second is a start, the last one an end.
  const first = Math.min(...tenths) + 10
  const last = Math.max(...tenths) - 10
  let most = 0
  for (let from = first; from + TURN_WINDOW_TENTHS <= last; from++) {
    const claims = new Map([...accounts].map((account) => [account, 0]))
    for (const [tenth, account, count] of all) {
      if (tenth >= from && tenth < from + TURN_WINDOW_TENTHS)
        claims.set(account, claims.get(account)! + count)
    }
    const mean = [...claims.values()].reduce((sum, count) => sum + count, 0) / accounts.size
    for (const count of claims.values()) most = Math.max(most, Math.abs(count - mean) / mean)
  }
  return most
}

/**
 * Eight nodes claim, end, requeue and give back jobs, and change, delete and add domains; one after the other is killed
 * meanwhile. A trigger of this program counts the running jobs of a domain at each claim, under the lock of its lane.
 */
async function measureCaps(): Promise<void> {
  await clear()
  await addDomains(60, 3)
  await pool.query(CAP_CHECK)
  const task = { kind: 'disturb', atOnce: 2, pauseMs: 0 } as const
  const nodes = Array.from({ length: KILLED_NODES }, () => startNode(task))
  await Promise.all(nodes.map(started))
  let kills = 0
  let claimed = 0
  let ended = 0
  while (claimed < CLAIMS) {
    await sleep(200)
    if (nodes.some(({ exitCode }) => exitCode !== null)) throw new Error('a node failed')
    const { rows } = await pool.query<{ claims: number; ended: number }>(
      `select (select last_value from cap_check_claims)::integer as claims, count(*)::integer as ended from job_ended where state = 'done'`,
    )
    claimed = rows[0]!.claims
    ended = rows[0]!.ended
    if (claimed < ((kills + 1) * CLAIMS) / KILLS) continue
    const turn = kills++ % KILLED_NODES
    nodes[turn]!.kill('SIGKILL')
    await once(nodes[turn]!, 'exit')
    nodes[turn] = startNode(task)
    await started(nodes[turn]!)
    if (turn === 0) console.log(`${claimed.toLocaleString('en')} claims, ${kills} kills`)
  }
  for (const node of nodes) await stopNode(node)
  const { rows } = await pool.query<{ exceeded: number; corrected: number }>(
    `select (select count(*)::integer from cap_exceeded) as exceeded, correct_queue_counts(null) as corrected`,
  )
  const { exceeded, corrected } = rows[0]!
  const what = `${claimed.toLocaleString('en')} claims of 8 nodes with ${kills} kills (${ended.toLocaleString('en')} jobs ended)`
  note(`claims over a cap in ${what}`, '0', `${exceeded}`, exceeded === 0)
  note('counts of the queue that differed from its jobs afterwards', '0', `${corrected}`, corrected === 0)
  await pool.query(
    'drop trigger cap_check on job; drop function check_cap; drop table cap_exceeded; drop sequence cap_check_claims',
  )
}

/** How long a live job and a claim take beside many jobs. */
async function measureLive(): Promise<void> {
  const claimMs = new Map<number, number>()
  let slowest = 0
  console.log(
    `waiting refreshes    a live job until its render begins, ms p50 / p95 / most; over ${LIVE_MS}    a claim, p50 / p95    a bulk of 1,000 paths`,
  )
  const sizes = [1_000, MOST_JOBS]
  for (const size of sizes) {
    await clear()
    const domains = await addDomains(1_000, 1)
    await fill(domains, size, 1)
    const begun = await liveJobs(domains[0]!)
    slowest = Math.max(...begun)
    const took = await timedClaims()
    const bulks = await timedBulks(domains)
    claimMs.set(size, percentile(took, 0.5))
    console.log(
      `${size.toLocaleString('en').padStart(17)}    ${figures(begun)} / ${slowest.toFixed(1)}; ${begun.filter((ms) => ms > LIVE_MS).length}    ${figures(took)}    ${figures(bulks)}`,
    )
  }
  const most = sizes[1]!.toLocaleString('en')
  note(
    `the slowest of ${LIVE_JOBS} live jobs until its render begins, ${most} refreshes waiting`,
    `${LIVE_MS} ms`,
    `${slowest.toFixed(1)} ms`,
    slowest <= LIVE_MS,
  )
  const times = claimMs.get(sizes[1]!)! / claimMs.get(sizes[0]!)!
  note(
    `a claim with ${most} waiting, to one with 1,000, median`,
    `${CLAIM_TIMES} times`,
    `${times.toFixed(2)} times`,
    times <= CLAIM_TIMES,
  )
}

/** Milliseconds until the render of each begins, at a node whose other slots have background work. */
async function liveJobs(domain: DomainId): Promise<number[]> {
  const listener = await createListener(connection, log)
  const waiter = new JobWaiter(listener, pool, log)
  const begunMs = new Map<string, number>()
  const worker = await QueueWorker.start(
    {
      pool,
      connection,
      log,
      notifications: listener,
      bodies: BodyStore.none(pool, log),
      plans: DEFAULT_PLANS,
      clock: systemClock,
      notices: new Notices(pool, log),
      canRender: () => true,
      async render({ path: page }) {
        if (page.startsWith('/live')) begunMs.set(page, performance.now())
        else await sleep(RENDER_MS)
        return { outcome: RENDERED, record: null }
      },
    },
    { node: randomUUID(), slots: 4 },
  )
  await listener.settled()
  const begunAfterMs: number[] = []
  for (let count = 0; count < FIRST_LIVE_JOBS + LIVE_JOBS; count++) {
    const page = pageId(domain, `/live${count}` as PagePath)
    const startMs = performance.now()
    const job = await enqueueLive(pool, page, 'bench', 10_000)
    await waiter.wait(job, AbortSignal.timeout(10_000))
    begunAfterMs.push(begunMs.get(page.path)! - startMs)
    await sleep(5)
  }
  await worker.close(1_000)
  waiter.close()
  await listener.close()
  return begunAfterMs.slice(FIRST_LIVE_JOBS)
}

async function timedClaims(): Promise<number[]> {
  const claims = new Claims(pool, DEFAULT_PLANS, randomUUID(), {
    ...CAPS,
    leaseMs: 60_000,
    liveWaitMs: 10_000,
  })
  const took: number[] = []
  for (let count = 0; count < 200; count++) {
    const startMs = performance.now()
    const free = { slots: 1, backgroundSlots: 1, occupied: [] }
    const { claimed } = await claims.claim(free, systemClock.nowMs())
    took.push(performance.now() - startMs)
    for (const { id } of claimed) await pool.query(`select end_job($1, 'done', 'rendered', null)`, [id])
  }
  return took
}

async function timedBulks(domains: readonly DomainId[]): Promise<number[]> {
  const took: number[] = []
  for (let count = 1; count <= 20; count++) {
    const paths = Array.from({ length: 1_000 }, (_, n) => `/bulk${count}-${n}` as PagePath)
    const startMs = performance.now()
    await transaction(pool, (client) =>
      enqueue(client, domains[count]!, paths, 'refresh', { bound: ANY_BOUND }),
    )
    took.push(performance.now() - startMs)
  }
  return took
}

type Run = { reports: NodeReport[]; rate: number; found: string }

/** `found`: claims a second, and the processor time of nodes and PostgreSQL for a claim, which depends less on other load. */
async function runNodes(count: number, seconds: number, pauseMs = 0): Promise<Run> {
  const nodes = Array.from({ length: count }, () =>
    startNode({ kind: 'claim', atOnce: CLAIMS_AT_ONCE, pauseMs }),
  )
  await Promise.all(nodes.map(started))
  const beforeMs = treeCpuMs(process.pid)
  await sleep(seconds * 1_000)
  const processorMs = treeCpuMs(process.pid) - beforeMs
  const reports = await Promise.all(nodes.map(stopNode))
  const claimed = reports.reduce((sum, report) => sum + report.claimed, 0)
  const rate = claimed / seconds
  return {
    reports,
    rate,
    found: `${rate.toFixed(0)} (${(processorMs / claimed).toFixed(2)} ms of processor each)`,
  }
}

function startNode(task: Omit<NodeTask, 'connection'>): ChildProcess {
  const program = path.join(import.meta.dirname, 'claims-node.ts')
  // Parsers are functions, which are not sent; the node needs none.
  const sent: NodeTask = { ...task, connection: { ...connection, types: undefined } }
  return fork(program, [JSON.stringify(sent)])
}

async function started(node: ChildProcess): Promise<void> {
  const failed = once(node, 'exit').then(() => {
    throw new Error('a node failed')
  })
  await Promise.race([once(node, 'message'), failed])
  failed.catch(() => {})
}

async function stopNode(node: ChildProcess): Promise<NodeReport> {
  const ended = once(node, 'exit')
  const report = new Promise<NodeReport>((resolve, reject) => {
    node.on('message', (message) => {
      if (message !== 'started') resolve(message as NodeReport)
    })
    node.on('exit', () => reject(new Error('a node ended without its report')))
  })
  node.send('stop')
  const found = await report
  await ended
  return found
}

async function clear(): Promise<void> {
  await emptyTables(pool, 'account cascade')
  await pool.query('vacuum analyze')
}

async function addDomains(accounts: number, each: number): Promise<DomainId[]> {
  const { rows } = await pool.query<{ id: DomainId }>(
    `with owner as (
       insert into account (email, plan) select n || '@example.com', 'enterprise' from generate_series(1, $1) n returning id)
     insert into domain (account_id, custom_domain, origin_url)
       select id, 'd' || n || '.a' || id || '.example', 'https://origin.example' from owner, generate_series(1, $2) n
        order by n, id returning id`,
    [accounts, each],
  )
  return rows.map(({ id }) => id)
}

async function addDomainsInLane(lane: number, count: number): Promise<DomainId[]> {
  for (;;) {
    const { rows } = await pool.query<{ id: AccountId }>(
      `insert into account (email, plan) values (gen_random_uuid() || '@example.com', 'enterprise') returning id`,
    )
    const { id } = rows[0]!
    if (id % 16 !== lane) continue
    const { rows: domains } = await pool.query<{ id: DomainId }>(
      `insert into domain (account_id, custom_domain, origin_url)
         select $1::integer, 'd' || n || '.a' || $1::integer || '.example', 'https://origin.example' from generate_series(1, $2) n returning id`,
      [id, count],
    )
    return domains.map((domain) => domain.id)
  }
}

/** Queues jobs, of the domains in turns. */
async function fill(domains: readonly DomainId[], count: number, priority: number): Promise<void> {
  for (let from = 0; from < count; from += FILL_STEP) {
    await pool.query(
      `insert into job (domain_id, account_id, path, priority, turn)
       select domain.id, domain.account_id, '/p' || n, $5, n / $2
         from generate_series($3::integer, $4) n join domain on domain.id = ($1::integer[])[1 + n % $2]`,
      [domains, domains.length, from, Math.min(from + FILL_STEP, count) - 1, priority],
    )
  }
  await pool.query('analyze job')
}

/** Jobs that other nodes run. */
async function hold(domains: readonly DomainId[], count: number): Promise<void> {
  await pool.query(
    `insert into job (domain_id, account_id, path, priority, turn, state, node, lease_until, started_at)
     select domain.id, domain.account_id, '/held' || n, 2, n, 'running', 'held', now() + interval '1 hour', now()
       from generate_series(0, $2::integer - 1) n join domain on domain.id = ($1::integer[])[1 + n % cardinality($1::integer[])]`,
    [domains, count],
  )
}

function note(what: string, goal: string, found: string, isMet: boolean): void {
  results.push([what, goal, found, isMet])
  console.log(`${isMet ? '      ' : 'MISSED'}  ${what}: ${found}`)
}

function figures(took: readonly number[]): string {
  return `${percentile(took, 0.5).toFixed(1)} / ${percentile(took, 0.95).toFixed(1)}`
}
