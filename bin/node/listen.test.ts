import assert from 'node:assert/strict'
import http from 'node:http'
import { it, type TestContext } from 'node:test'
import { type ListenWhere, listen } from './listen.ts'

async function open(t: TestContext, port: number, more: Partial<ListenWhere> = {}): Promise<number> {
  const server = http.createServer()
  t.after(() => server.close())
  return Number(
    new URL(await listen(server, { host: '127.0.0.1', setting: 'PREPAINT_EDGE', port, ...more })).port,
  )
}

it('several servers take one port if all of them share it', async (t) => {
  const port = await open(t, 0, { shared: true })
  assert.equal(await open(t, port, { shared: true }), port)
  const error = {
    name: 'CommandError',
    message: /^Port \d+ on 127\.0\.0\.1 is in use\. .*PREPAINT_EDGE_PORT/,
  }
  await assert.rejects(open(t, port), error)
})

it('an address that this machine does not have is named with its setting', (t) =>
  assert.rejects(open(t, 0, { host: '192.0.2.1' }), /^CommandError: PREPAINT_EDGE_HOST: .*"192\.0\.2\.1"/))
