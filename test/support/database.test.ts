import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { withClient } from '../../src/db/connection.ts'
import { until } from './condition.ts'
import { SHARED_SERVER, testDatabase } from './database.ts'
import { processesIn } from './database-process.ts'

describe('testDatabase', () => {
  it('closes although somebody is still connected', async () => {
    const database = await testDatabase()
    await withClient(database.connection, () => database.close())
    await assert.rejects(
      withClient(database.connection, (client) => client.query('select')),
      /does not exist/,
    )
  })

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    it(`leaves neither process nor file when the test process gets ${signal}`, async () => {
      const script = `
        import { testDatabase } from ${JSON.stringify(path.join(import.meta.dirname, 'database.ts'))}
        const { connection } = await testDatabase()
        console.log(connection.host)
        setInterval(() => {}, 1000)`
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
        // It starts its own server.
        env: { ...process.env, [SHARED_SERVER]: undefined },
      })
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
      const run = path.dirname(line)
      assert(existsSync(run) && processesIn(run).length > 0)
      child.kill(signal)
      await until('all of it is gone', () => processesIn(run).length === 0 && !existsSync(run))
    })
  }
})
