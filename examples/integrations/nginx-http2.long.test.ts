/** `nginx-http2.conf` as it stands, before a real edge. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, it } from 'node:test'
import tls from 'node:tls'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { loadConfig } from '../../bin/settings/config.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../test/support/edge.ts'
import { openFolder } from '../../test/support/folder.ts'
import { freePort } from '../../test/support/loopback.ts'
import { hasNginx, startNginx } from '../../test/support/nginx.ts'

if (hasNginx) {
  const dir = openFolder()
  let crawlersByNode = 0
  let peopleByNode = 0
  let asked: http.IncomingMessage | null = null
  const clients = { ...loadConfig({}).clients, trustedProxies: [ipaddr.parseCIDR('127.0.0.1/32')] }
  const edge = await openEdge({
    clients,
    origin: (req, res) => {
      asked = req
      res.end('from the origin')
    },
  })
  edge.originServer.on('upgrade', (_req, socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  )
  edge.server.on('request', ({ headers }) => {
    if (headers['user-agent'] === GOOGLEBOT) crawlersByNode++
    else peopleByNode++
  })
  const port = await freePort()
  const { privateKey, certificate } = createSelfSigned('red.example')
  writeFileSync(path.join(dir, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(path.join(dir, 'certificate.pem'), certificate)
  const guide = readFileSync(path.join(import.meta.dirname, 'nginx-http2.conf'), 'utf8')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${edge.port}`)
    .replace('listen 443 ', `listen 127.0.0.1:${port} `)
    .replace('www.example.com', 'red.example')
    .replace('/etc/ssl/example.pem', `${dir}/certificate.pem`)
    .replace('/etc/ssl/example.key', `${dir}/key.pem`)
  const nginx = await startNginx(port, guide)
  after(nginx.close)

  async function ask(session: http2.ClientHttp2Session, url: string, agent: string, method = 'GET') {
    const stream = session.request({
      ':method': method,
      ':path': url,
      ':authority': 'red.example',
      'user-agent': agent,
      'x-forwarded-for': '203.0.113.1',
    })
    stream.end(method === 'POST' ? 'a=b' : undefined)
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    return [headers['x-prepaint'], await text(stream)]
  }

  it('people reach the origin with their own address, and crawlers’ hits stay in the fast lane beside them', async (t) => {
    // From an address of its own, as a client elsewhere has.
    const createConnection = () =>
      tls.connect({
        ...{ port, host: '127.0.0.1', localAddress: '127.0.0.9', servername: 'red.example' },
        ...{ rejectUnauthorized: false, ALPNProtocols: ['h2'] },
      })
    const session = http2.connect(`https://red.example:${port}`, { createConnection })
    t.after(() => session.destroy())
    for (const _ of [1, 2]) await edge.ask('/page')
    crawlersByNode = 0
    peopleByNode = 0
    for (let times = 0; times < 20; times++) {
      // What has a body moves its connection to Node's parser.
      const person = await ask(session, '/cart', PERSON, 'POST')
      assert.deepEqual(person, ['pass; not-a-crawler', 'from the origin'])
      assert.equal((await ask(session, '/page', GOOGLEBOT))[0], 'hit')
    }
    assert.equal(asked!.headers['x-forwarded-for'], '127.0.0.9')
    assert.equal(asked!.headers['x-forwarded-proto'], 'https')
    assert.deepEqual([peopleByNode, crawlersByNode], [20, 0])
  })

  it('WebSockets pass', async () => {
    const headers = { host: 'red.example', connection: 'Upgrade', upgrade: 'websocket' }
    const asking = https.get({ port, host: '127.0.0.1', path: '/ws', rejectUnauthorized: false, headers })
    const [, socket] = (await once(asking, 'upgrade')) as [unknown, tls.TLSSocket]
    socket.destroy()
  })
}
