import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { until } from './condition.ts'
import { SHARED_SERVER } from './database.ts'
import { processesIn } from './database-process.ts'

it('a test process that is killed leaves no PostgreSQL, neither process nor file', async () => {
  const script = `
    import { testDatabase } from ${JSON.stringify(path.join(import.meta.dirname, 'database.ts'))}
    console.log((await testDatabase()).connection.host)
    setInterval(() => {}, 1000)`
  // It starts its own server.
  const env = { ...process.env, [SHARED_SERVER]: undefined }
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: [...stdio], env })
  const [socketDir] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string]
  const run = path.dirname(socketDir)
  assert(existsSync(run) && processesIn(run).length > 0)
  child.kill('SIGKILL')
  await until('all of it is gone', () => processesIn(run).length === 0 && !existsSync(run))
})
