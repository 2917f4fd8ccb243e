/**
 * `node bench/domain-summaries.ts [--checkouts .,../before] [--sizes 10,100,1000,10000] [--lines 1] [--runs 20]`
 * Measures domain lists, and writing counts with and without the sum triggers. `--lines`: average per domain and
 * hour. Last figures: docs/decisions/0017-figures-and-log.md.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createKey } from '@prepaint/service/accounts/keys.ts'
import type * as Renders from '@prepaint/service/insight/traffic/read-renders.ts'
import type * as Summaries from '@prepaint/service/insight/traffic/read-summaries.ts'
import { type DomainHour, keyOf, VisitCounts } from '@prepaint/service/insight/traffic/visit-counts.ts'
import { createWriteCounts } from '@prepaint/service/insight/traffic/write-counts.ts'
import pg from 'pg'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { openSummaryApi, type SummaryApi } from './summary-api.ts'
import { openSummaryStore } from './summary-store.ts'

const { values } = parseArgs({
  options: {
    checkouts: { type: 'string', default: '.' },
    sizes: { type: 'string', default: '10,100,1000,10000' },
    lines: { type: 'string', default: '1' },
    runs: { type: 'string', default: '20' },
  },
})
const LIMIT = 1_000_000
const BATCHES = [1, 10, 100, 1_000]
const nowMs = Date.now()
const runs = Number(values.runs)
const sizes = values.sizes.split(',').map(Number)

type Code = {
  checkout: string
  summaries: typeof Summaries
  renders: Partial<typeof Renders>
  api: SummaryApi
}

const store = await openSummaryStore({ sizes, lines: Number(values.lines), nowMs })
// One connection, so one backend has all of PostgreSQL's processor time.
const pool = new pg.Pool({ ...store.connection, max: 1 })
try {
  const { rows } = await pool.query<{ version: string; lines: string; pid: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid,
            (select count(*) from traffic_hour) as lines`,
  )
  const { version, lines, pid } = rows[0]!
  console.log(
    `${new Date(nowMs).toISOString().slice(0, 16)}, ${machineLine()}, PostgreSQL ${version}, ${lines} lines\n`,
  )
  await reads()
  await writes(pid)
} finally {
  await pool.end()
  await store.close()
}

async function reads(): Promise<void> {
  const codes = await Promise.all(values.checkouts.split(',').map(load))
  const table: string[][] = []
  for (const size of sizes) {
    const account = store.accounts.get(size)!
    const { key } = await createKey(
      pool,
      account,
      { name: 'bench', expiresAt: null },
      { plans: DEFAULT_PLANS, nowMs },
    )
    const answers = await Promise.all(codes.map((code) => answerOf(code, account)))
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    const took = codes.map(() => ({
      summaries: [] as number[],
      renders: [] as number[],
      whole: [] as number[],
    }))
    for (let run = 0; run < runs; run++) {
      for (let turn = 0; turn < codes.length; turn++) {
        const at = (run + turn) % codes.length
        took[at]!.summaries.push(await msOf(() => readSummaries(codes[at]!, account)))
        took[at]!.renders.push(await msOf(() => readRenders(codes[at]!, account)))
        took[at]!.whole.push(await msOf(() => askFor(codes[at]!, key)))
      }
    }
    for (const [at, { checkout }] of codes.entries()) {
      const { summaries, renders, whole } = took[at]!
      const ratio = (part: 'summaries' | 'renders' | 'whole') =>
        median(took[0]![part].map((ms, run) => took[at]![part][run]! / ms)).toFixed(2)
      table.push([
        ...[size.toLocaleString('en'), checkout, median(summaries).toFixed(1), ratio('summaries')],
        ...[median(renders).toFixed(1), ratio('renders'), median(whole).toFixed(1), ratio('whole')],
      ])
    }
  }
  for (const { api } of codes) await api.close()
  const paired = 'to the first, pair by pair'
  const head = [
    'domains',
    'checkout',
    'summaries, ms',
    paired,
    'renders, ms',
    paired,
    'whole answer, ms',
    paired,
  ]
  console.log(`${markdownTable(head, table, 2)}\n`)
}

async function load(checkout: string): Promise<Code> {
  const file = (name: string) => pathToFileURL(path.resolve(checkout, 'src/traffic', name)).href
  return {
    checkout,
    summaries: (await import(file('read-summaries.ts'))) as typeof Summaries,
    renders: (await import(file('read-renders.ts'))) as Partial<typeof Renders>,
    api: await openSummaryApi(checkout, store.pool, nowMs),
  }
}

async function askFor({ api }: Code, key: string): Promise<void> {
  const response = await fetch(`${api.url}/api/traffic/domains`, { headers: { 'x-api-key': key } })
  assert.equal(response.status, 200)
  await response.text()
}

function readSummaries({ summaries }: Code, account: AccountId) {
  return summaries.readSummaries(pool, account, nowMs)
}

function readRenders({ renders }: Code, account: AccountId) {
  return renders.readMonths === undefined
    ? renders.readRenders!(pool, { account, domain: null }, LIMIT, nowMs, DEFAULT_PLANS)
    : renders.readMonths(pool, account, LIMIT, nowMs, DEFAULT_PLANS)
}

async function answerOf(code: Code, account: AccountId) {
  const months = await readRenders(code, account)
  return {
    summaries: await readSummaries(code, account),
    months: months.map(({ domain, used, limit, forecast }) => ({ domain, used, limit, forecast })),
  }
}

async function writes(pid: number): Promise<void> {
  const { rows } = await pool.query<{ id: DomainId }>('select id from domain order by id desc')
  const counts = new VisitCounts()
  const write = createWriteCounts({ pool, node: randomUUID(), named: counts.named })
  const table: string[][] = []
  let batch = 0
  for (const size of BATCHES.filter((each) => each <= rows.length)) {
    const took = { without: [] as number[], with: [] as number[] }
    const cpu = { without: 0, with: 0 }
    for (let run = 0; run < 2 * runs; run++) {
      for (const which of run % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
        await pool.query(`alter table traffic_hour ${which === 'with' ? 'enable' : 'disable'} trigger user`)
        const counted = countedBy(
          counts,
          rows.slice(0, size).map(({ id }) => id),
        )
        const before = processorMs(pid)
        took[which].push(await msOf(() => write(++batch, counted, nowMs)))
        cpu[which] += processorMs(pid) - before
      }
    }
    table.push([
      ...[size.toLocaleString('en'), median(took.without).toFixed(1), median(took.with).toFixed(1)],
      median(took.with.map((ms, run) => ms / took.without[run]!)).toFixed(2),
      ...[(cpu.without / (2 * runs)).toFixed(1), (cpu.with / (2 * runs)).toFixed(1)],
    ])
  }
  const head = [
    'domains of a batch',
    'without, ms',
    'with, ms',
    'pair by pair',
    "PostgreSQL's processor, ms",
    'with, ms',
  ]
  console.log(markdownTable(head, table))
}

/** Three lines of each domain, as a node counts them between two flushes. */
function countedBy(counts: VisitCounts, domains: readonly DomainId[]): DomainHour[] {
  for (const domain of domains) {
    const hour = counts.hourOf(domain, nowMs)!
    for (const verdict of ['hit', 'rendered', 'pass; asset']) {
      counts.add(hour, keyOf('search', 0, counts.verdictNumber(verdict)), 200, 0.001)
    }
  }
  return counts.take().hours
}

function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await work()
  return performance.now() - beganMs
}
