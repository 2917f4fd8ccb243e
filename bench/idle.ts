/**
 * `node bench/idle.ts [--minutes 3] [--settle 60] [--acme]`
 * Starts the packaged program on an empty database of its own and sends it nothing. Prints the transactions that PostgreSQL
 * counts a minute, with those of autovacuum, and the statements of the node a minute, by kind.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { withClient } from '@prepaint/postgres/connection.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { startTestServer } from '../test/support/postgres-server.ts'
import { machineLine } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { packedProgram } from './program/packed.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '3' }, settle: { type: 'string', default: '60' } },
})
const minutes = Number(values.minutes)

const server = await startTestServer()
const dataDir = makeDataDir()
const counted = path.join(dataDir, 'statements.json')
try {
  const node = await startNodeProcess(
    dataDir,
    {
      DATABASE_URL: server.url,
      BENCH_STATEMENTS: counted,
      NODE_OPTIONS: `--import=${path.join(import.meta.dirname, 'count-statements.ts')}`,
    },
    packedProgram(),
  )
  await sleep(Number(values.settle) * 1_000)
  const before = await read()
  await sleep(minutes * 60_000)
  const after = await read()
  await node.stop()
  const kinds = [...after.statements]
    .map(([kind, count]) => [kind, (count - (before.statements.get(kind) ?? 0)) / minutes] as const)
    .filter(([, perMinute]) => perMinute > 0)
    .toSorted(([, a], [, b]) => b - a)
  const statements = kinds.reduce((sum, [, perMinute]) => sum + perMinute, 0)
  const transactions = (after.transactions - before.transactions) / minutes
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}\n`)
  console.log(`${transactions.toFixed(0)} transactions and ${statements.toFixed(0)} statements a minute\n`)
  console.log(
    markdownTable(
      ['statement', 'a minute'],
      kinds.map(([kind, count]) => [kind, count.toFixed(1)]),
    ),
  )
} finally {
  await server.close()
  await clearDataDir(dataDir)
}

/** From another database, so that it does not count itself. */
async function read(): Promise<{ transactions: number; statements: Map<string, number> }> {
  const transactions = await withClient({ ...server.connection, database: 'postgres' }, async (client) => {
    const { rows } = await client.query<{ count: string }>(
      `select xact_commit + xact_rollback as count from pg_stat_database where datname = 'template1'`,
    )
    return Number(rows[0]!.count)
  })
  return {
    transactions,
    statements: new Map(JSON.parse(readFileSync(counted, 'utf8')) as [string, number][]),
  }
}
