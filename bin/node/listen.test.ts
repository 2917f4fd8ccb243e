import assert from 'node:assert/strict'
import http from 'node:http'
import { it } from 'node:test'
import { listen } from './listen.ts'

it('several servers take one port if all of them share it', async (t) => {
  const open = async (port: number, shared?: true): Promise<number> => {
    const server = http.createServer()
    t.after(() => server.close())
    const where = { host: '127.0.0.1', setting: 'PREPAINT_EDGE', port, ...(shared && { shared }) }
    return Number(new URL(await listen(server, where)).port)
  }
  const port = await open(0, true)
  assert.equal(await open(port, true), port)
  await assert.rejects(open(port), /^CommandError: Port \d+ on 127\.0\.0\.1 is in use\. .*PREPAINT_EDGE_PORT/)
})
