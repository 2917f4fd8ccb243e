import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { listening } from '../../../test/support/edge.ts'
import { createContexts } from '../../certificates/contexts.ts'
import { silentLog } from '../../log.ts'
import { createEdgeServers } from './servers.ts'

const clock = { nowMs: () => Date.now() }

describe('a handshake for which there is no certificate', () => {
  const read: string[] = []
  const contexts = createContexts({
    async read(name) {
      read.push(name)
      return null
    },
    vault: { open: () => assert.fail('there is nothing to open') },
    connected: () => true,
    clock,
    log: silentLog(),
  })
  const { secure } = createEdgeServers({ request() {}, upgrade() {} }, contexts, {
    clock,
    headersMs: 5_000,
    idleMs: 5_000,
    keepAliveMs: 5_000,
  })
  let port: number
  before(async () => {
    port = await listening(secure!)
  })
  after(() => {
    secure!.close()
  })

  const NAMES = [
    '',
    'nobody.example',
    'xn--a.example',
    'a..example',
    '*.example',
    "' or 1=1 --",
    'x'.repeat(255),
  ]
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const protocol of ['h2', 'acme-tls/1']) {
      it(`${maxVersion}, ${protocol}: the client is told so, whatever it names, or nobody`, async () => {
        for (const servername of NAMES) {
          const socket = tls.connect({
            host: '127.0.0.1',
            port,
            servername,
            ALPNProtocols: [protocol],
            rejectUnauthorized: false,
            maxVersion,
          })
          const [error] = (await once(socket, 'error')) as [Error]
          assert.match(error.message, /alert handshake failure/, servername.slice(0, 20))
        }
      })
    }
  }

  it('names that are none of the domain system are not looked up', () => {
    assert(read.includes('nobody.example'))
    assert(!read.includes('') && !read.some((name) => name.length > 253))
  })
})

describe('a request for which all lies ready, and which fails nevertheless', () => {
  it('is asked in the usual way, which says what the fault is', async (t) => {
    const { plain } = createEdgeServers(
      {
        request: (req, res) => void res.end(`usual ${req.url}`),
        readyHit: () => {
          throw new Error('a fault')
        },
        upgrade() {},
      },
      null,
      { clock, headersMs: 5_000, idleMs: 5_000, keepAliveMs: 5_000 },
    )
    t.after(() => void plain.close())
    const client = net.connect(await listening(plain), '127.0.0.1')
    t.after(() => void client.destroy())
    client.write('GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n')
    const [answer] = (await once(client, 'data')) as [Buffer]
    assert.match(String(answer), /^HTTP\/1\.1 200 OK\r\n.*usual \/a/s)
  })
})
