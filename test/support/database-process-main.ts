import { createInterface } from 'node:readline'
import { type Database, openDatabase } from '@prepaint/postgres/database.ts'
import { createLog } from '@prepaint/runtime/log.ts'

// Opens the database for database-process.ts; reports events as JSON lines, and takes SQL and "close" on stdin.

const [dataDir = '', attach = ''] = process.argv.slice(2)

function say(event: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

let database: Database
try {
  database = await openDatabase({
    databaseUrl: null,
    dataDir,
    attach: attach === 'attach',
    log: createLog('warn'),
    onLongStep: (line) => say({ event: 'step', line }),
  })
} catch (error) {
  const { name, message } = error as Error
  say({ event: 'refused', name, message })
  process.exit(1)
}
const { host } = database.connection
say({ event: 'open', host })

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'close') break
  try {
    const { rows } = await database.pool.query(line)
    say({ event: 'rows', rows })
  } catch (error) {
    say({ event: 'failed', message: (error as Error).message })
  }
}
await database.close()
say({ event: 'closed' })
process.exit(0)
