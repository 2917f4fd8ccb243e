import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import tls from 'node:tls'
import { createTestCa } from '../../../test/support/certificate-authority.ts'
import { until } from '../../../test/support/condition.ts'
import { createEdgeServers, renewTicketKeys } from './servers.ts'

it('a session is resumed until the key of its ticket is replaced', async () => {
  const { chain, key } = createTestCa().leaf()
  const context = tls.createSecureContext({ cert: chain, key })
  const { secure } = createEdgeServers(
    { request: (_req, res) => void res.end(), upgrade: () => {} },
    { contextFor: () => context },
    { clock: { nowMs: () => Date.now() }, headersMs: 5_000, idleMs: 5_000, keepAliveMs: 5_000 },
  )
  assert(secure !== null)
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  const { port } = secure.address() as AddressInfo

  async function visit(session?: Buffer): Promise<{ reused: boolean; ticket: Buffer }> {
    const socket = tls.connect({
      host: '127.0.0.1',
      port,
      servername: 'shop.example.com',
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.2',
      ...(session !== undefined && { session }),
    })
    const [ticket] = await Promise.all([
      session === undefined ? once(socket, 'session').then(([it_]) => it_ as Buffer) : session,
      once(socket, 'secureConnect'),
    ])
    const reused = socket.isSessionReused()
    socket.destroy()
    return { reused, ticket }
  }

  const { ticket } = await visit()
  assert.equal((await visit(ticket)).reused, true)
  const renewing = renewTicketKeys(secure, 5)
  await until('it is resumed no more', async () => !(await visit(ticket)).reused)
  renewing.close()
  secure.close()
})
