/** nginx behind the edge as an origin, and before it as the operator's own proxy. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { NO_CLIENT_LIMITS } from '../src/http/client-limits.ts'
import { until } from './support/condition.ts'
import { PERSON, request, startTestEdge, type TestEdge } from './support/edge.ts'
import { hasProgram } from './support/program.ts'

const LOOPBACK = [ipaddr.parseCIDR('127.0.0.1/32')] as const

if (hasProgram('nginx', 'nginx-light')) {
  describe('nginx', { timeout: 240_000 }, tryNginx)
} else {
  it('nginx is not on this machine (apt-get install nginx-light): nothing was tried', () => {})
}

function tryNginx(): void {
  let edge: TestEdge
  let nginx: ChildProcess | undefined
  let dir: string | undefined
  let originPort: number
  let frontPort: number
  /** What an origin behind everything was asked. */
  let asked: http.IncomingHttpHeaders = {}

  before(async () => {
    edge = await startTestEdge({
      tls: true,
      clients: { ...NO_CLIENT_LIMITS, trustedProxies: [...LOOPBACK] },
      origin: (req, res) => {
        asked = req.headers
        req.pipe(res)
      },
    })
    dir = mkdtempSync(path.join(tmpdir(), 'prepaint-nginx-'))
    chmodSync(dir, 0o755)
    ;[originPort, frontPort] = [await freePort(), await freePort()]
    mkdirSync(path.join(dir, 'site/folder'), { recursive: true })
    writeFileSync(path.join(dir, 'site/ten.txt'), '0123456789')
    writeFileSync(path.join(dir, 'site/page.html'), `<p>${'words '.repeat(2_000)}</p>`)
    const file = path.join(dir, 'nginx.conf')
    writeFileSync(file, configuration())
    nginx = spawn('nginx', ['-c', file, '-p', dir, '-e', path.join(dir, 'error.log')], { stdio: 'ignore' })
    await until('nginx listens', () => listens(originPort))
    await edge.set(`origin_url = 'http://127.0.0.1:${originPort}'`, 'blue.example').then(edge.settled)
  })
  after(async () => {
    if (nginx !== undefined && nginx.exitCode === null && nginx.signalCode === null) {
      const ended = once(nginx, 'exit')
      nginx.kill()
      await ended
    }
    await edge?.close()
    if (dir !== undefined) rmSync(dir, { recursive: true })
  })

  const configuration = () => `
    daemon off; master_process off; pid ${dir}/pid; worker_processes 1;
    events { worker_connections 256; }
    http {
      access_log off;
      client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f;
      uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
      server {
        listen 127.0.0.1:${originPort};
        root ${dir}/site;
        # Without it nginx compresses nothing for whoever comes with a Via.
        gzip on; gzip_proxied any; gzip_types text/plain; gzip_min_length 100;
        keepalive_requests 2;
        client_max_body_size 100k;
        location /here { return 302 /there; }
        location /post { proxy_pass ${edge.origin}; }
        location /socket {
          proxy_pass ${edge.origin}; proxy_http_version 1.1;
          proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
        }
      }
      upstream prepaint { server 127.0.0.1:${edge.tlsPort}; keepalive 4; }
      server {
        listen 127.0.0.1:${frontPort};
        location / {
          proxy_pass https://prepaint;
          proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host red.example;
          proxy_ssl_server_name on; proxy_ssl_name red.example;
          proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          proxy_set_header X-Forwarded-Proto https;
          proxy_request_buffering off;
        }
      }
    }`

  const ask = (target: string, headers: Record<string, string> = {}, method = 'GET', body?: Buffer) =>
    request(edge.port, target, {
      ...{ host: 'blue.example', agent: PERSON, headers, method },
      ...(body === undefined ? {} : { body }),
    })

  describe('as an origin', () => {
    it('files: whole, in ranges, not at all when they are known, and their heads', async () => {
      const whole = await ask('/ten.txt')
      assert.deepEqual([whole.status, String(whole.body)], [200, '0123456789'])
      assert.match(String(whole.headers['server']), /^nginx/)
      const part = await ask('/ten.txt', { range: 'bytes=2-4' })
      assert.deepEqual(
        [part.status, String(part.body), part.headers['content-range']],
        [206, '234', 'bytes 2-4/10'],
      )
      assert.equal((await ask('/ten.txt', { range: 'bytes=99-' })).status, 416)
      const several = await ask('/ten.txt', { range: 'bytes=0-1,8-9' })
      assert.match(several.headers['content-type'] ?? '', /^multipart\/byteranges/)
      const same = await ask('/ten.txt', { 'if-none-match': String(whole.headers.etag) })
      assert.deepEqual([same.status, same.body.length], [304, 0])
      const head = await ask('/ten.txt', {}, 'HEAD')
      assert.deepEqual([head.headers['content-length'], head.body.length], ['10', 0])
    })

    it('what it compresses stays compressed, in chunks', async () => {
      const got = await ask('/page.html', { 'accept-encoding': 'gzip' })
      assert.deepEqual(
        [got.headers['content-encoding'], got.headers['transfer-encoding'], got.headers['content-length']],
        ['gzip', 'chunked', undefined],
      )
    })

    it('its redirects name its own host and port; people stay on the custom domain', async () => {
      assert.equal((await ask('/folder')).headers.location, 'http://blue.example/folder/')
      assert.equal((await ask('/here')).headers.location, 'http://blue.example/there')
    })

    it('a body that is too large is refused before it is sent, when the client asks', async () => {
      const req = http.request({
        ...{ port: edge.port, host: '127.0.0.1', method: 'POST', path: '/post', agent: false },
        headers: { host: 'blue.example', 'content-length': 10_000_000, expect: '100-continue' },
      })
      req.on('error', () => {})
      req.on('continue', () => assert.fail('nobody wanted it'))
      req.flushHeaders()
      const [res] = (await once(req, 'response')) as [http.IncomingMessage]
      assert.equal(res.statusCode, 413)
      req.destroy()
    })

    it('that closes each connection behind two requests loses none of forty', async () => {
      for (let n = 0; n < 20; n++) {
        assert.equal((await ask('/post', {}, 'POST', Buffer.from(`order ${n}`))).status, 200)
        assert.equal((await ask('/ten.txt')).status, 200)
      }
    })

    it('a WebSocket goes through both', async () => {
      edge.originServer.once('upgrade', (_req, socket: net.Socket) => {
        socket.on('error', () => {})
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
        socket.pipe(socket)
      })
      const socket = net.connect(edge.port, '127.0.0.1')
      socket.write(
        'GET /socket HTTP/1.1\r\nHost: blue.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: eA==\r\n\r\n',
      )
      let got = ''
      socket.on('data', (part) => {
        got += part
      })
      await until('the handshake', () => got.includes('\r\n\r\n'))
      socket.write(Buffer.from('8203616263', 'hex'))
      await until('the echo', () => got.endsWith('abc'))
      socket.destroy()
    })
  })

  describe('as the operator’s own proxy, by TLS', () => {
    it('what it says of its client is believed, and what that client says of itself is not', async () => {
      const got = await request(frontPort, '/', {
        ...{ agent: PERSON, method: 'POST', body: 'hello' },
        headers: { 'x-forwarded-for': '203.0.113.9' },
      })
      assert.deepEqual([got.status, String(got.body)], [200, 'hello'])
      // The last entry that is no trusted proxy's is the one that nginx saw: what stands left of it was the client's own.
      assert.equal(asked['x-forwarded-for'], '203.0.113.9')
      assert.equal(asked['x-forwarded-proto'], 'https')
      assert.equal(asked['x-forwarded-host'], 'red.example')
      assert.match(asked.forwarded ?? '', /^for=203\.0\.113\.9;host=red\.example;proto=https$/)
    })

    it('its connections to us are kept; large bodies stream through both', async () => {
      const large = Buffer.alloc(700 * 1024, 'x')
      for (let n = 0; n < 3; n++) {
        const got = await request(frontPort, '/', { agent: PERSON, method: 'POST', body: large })
        assert.deepEqual([got.status, got.body.equals(large)], [200, true])
      }
    })

    it('a crawler gets its page', async () => {
      assert.equal((await request(frontPort, '/of-nginx')).verdict, 'rendered')
      assert.equal((await request(frontPort, '/of-nginx')).verdict, 'hit')
    })
  })
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function listens(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
