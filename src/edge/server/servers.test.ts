import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import net from 'node:net'
import { it } from 'node:test'
import tls from 'node:tls'
import { createTestCa } from '../../../test/support/certificate-authority.ts'
import { until } from '../../../test/support/condition.ts'
import { listening } from '../../../test/support/loopback.ts'
import { createEdgeServers, type EdgeTls, renewTicketKeys } from './servers.ts'

const LIMITS = { clock: { nowMs: () => Date.now() }, headersMs: 5_000, idleMs: 5_000, keepAliveMs: 5_000 }

it('a handshake for which there is no certificate: the client is told so, whatever it names, or nobody', async (t) => {
  const other = { protocol: 'acme-tls/1', context: null }
  const certificates: EdgeTls = {
    contextFor: () => null,
    alpn: (_name, protocols) => (protocols.includes(other.protocol) ? other : null),
  }
  const { secure } = createEdgeServers({ request() {}, upgrade() {} }, certificates, LIMITS)
  const port = await listening(secure!)
  t.after(() => void secure!.close())
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const protocol of ['h2', other.protocol]) {
      for (const servername of ['', 'nobody.example', "' or 1=1 --"]) {
        const offered = { ALPNProtocols: [protocol], rejectUnauthorized: false, maxVersion }
        const socket = tls.connect({ host: '127.0.0.1', port, servername, ...offered })
        const [error] = (await once(socket, 'error')) as [Error]
        assert.match(error.message, /alert handshake failure/, `${maxVersion} ${protocol} ${servername}`)
      }
    }
  }
})

it('a request for which all lies ready, and which fails nevertheless, is asked in the usual way', async (t) => {
  const readyHit = () => {
    throw new Error('a fault')
  }
  const request = (req: IncomingMessage, res: ServerResponse) => void res.end(`usual ${req.url}`)
  const { plain } = createEdgeServers({ request, readyHit, upgrade() {} }, null, LIMITS)
  t.after(() => void plain.close())
  const client = net.connect(await listening(plain), '127.0.0.1')
  t.after(() => void client.destroy())
  client.write('GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n')
  assert.match(String((await once(client, 'data'))[0]), /^HTTP\/1\.1 200 OK\r\n.*usual \/a/s)
})

it('a session is resumed until the key of its ticket is replaced', async (t) => {
  const { chain, key } = createTestCa().leaf()
  const context = tls.createSecureContext({ cert: chain, key })
  const handlers = { request: (_req: unknown, res: ServerResponse) => void res.end(), upgrade() {} }
  const { secure } = createEdgeServers(handlers, { contextFor: () => context }, LIMITS)
  const port = await listening(secure!)
  t.after(() => void secure!.close())

  async function visit(session?: Buffer): Promise<{ reused: boolean; ticket: Buffer }> {
    const socket = tls.connect({
      ...{ host: '127.0.0.1', port, servername: 'shop.example.com', rejectUnauthorized: false },
      ...{ maxVersion: 'TLSv1.2', ...(session !== undefined && { session }) },
    })
    const given = session === undefined ? once(socket, 'session') : [session]
    const [[ticket]] = await Promise.all([given, once(socket, 'secureConnect')])
    const reused = socket.isSessionReused()
    socket.destroy()
    return { reused, ticket }
  }
  const { ticket } = await visit()
  assert.equal((await visit(ticket)).reused, true)
  const renewing = renewTicketKeys(secure!, 5)
  t.after(() => renewing.close())
  await until('it is resumed no more', async () => !(await visit(ticket)).reused)
})
