/** nginx behind the edge as an origin, and before it as the operator's own proxy, with a cache too. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import ipaddr from 'ipaddr.js'
import { NO_CLIENT_LIMITS } from '../src/http/client-limits.ts'
import { type Answer, GOOGLEBOT, PERSON, request, startTestEdge, type TestEdge } from './support/edge.ts'
import { freePort } from './support/loopback.ts'
import { startNginx } from './support/nginx.ts'
import { hasProgram } from './support/program.ts'

const LOOPBACK = [ipaddr.parseCIDR('127.0.0.1/32')] as const

if (hasProgram('nginx', 'nginx-light')) {
  describe('nginx', { timeout: 240_000 }, tryNginx)
} else {
  it('nginx is not on this machine (apt-get install nginx-light): nothing was tried', () => {})
}

function tryNginx(): void {
  let edge: TestEdge
  let nginx: Awaited<ReturnType<typeof startNginx>> | undefined
  let dir: string | undefined
  let originPort: number
  let frontPort: number
  let cachePorts: { careful: number; greedy: number }
  /** What an origin behind everything was asked. */
  let asked: http.IncomingHttpHeaders = {}

  before(async () => {
    edge = await startTestEdge({
      ...{ tls: true, conversionMs: 60_000 },
      render: async ({ page: { path, variant } }) => {
        const html = `<!DOCTYPE html><html><head><title>${variant} ${path}</title></head><body><nav>menu</nav><main><p>${variant} ${path}</p></main></body></html>`
        return { kind: 'rendered', status: 200, headers: [], html }
      },
      clients: { ...NO_CLIENT_LIMITS, trustedProxies: [...LOOPBACK] },
      origin: (req, res) => {
        asked = req.headers
        req.pipe(res)
      },
    })
    dir = mkdtempSync(path.join(tmpdir(), 'prepaint-site-'))
    chmodSync(dir, 0o755)
    ;[originPort, frontPort] = [await freePort(), await freePort()]
    cachePorts = { careful: await freePort(), greedy: await freePort() }
    mkdirSync(path.join(dir, 'site/folder'), { recursive: true })
    writeFileSync(path.join(dir, 'site/ten.txt'), '0123456789')
    nginx = await startNginx(originPort, configuration())
    const settings = JSON.stringify({ cards: 'on', devices: 'both' })
    const columns = `origin_url = 'http://127.0.0.1:${originPort}', settings = '${settings}'`
    await edge.set(columns, 'blue.example').then(edge.settled)
  })
  after(async () => {
    await nginx?.close()
    await edge?.close()
    if (dir !== undefined) rmSync(dir, { recursive: true })
  })

  const configuration = () => `
      server {
        listen 127.0.0.1:${originPort};
        root ${dir}/site;
        location /app {
          default_type text/html; add_header Cache-Control "public, max-age=600";
          return 200 "people $uri";
        }
        location /here { return 302 /there; }
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
        }
      }
      ${caching('careful', '')}
      ${caching('greedy', 'proxy_ignore_headers Cache-Control; proxy_cache_valid 10m;')}
    `
  const caching = (name: keyof typeof cachePorts, more: string) => `
      proxy_cache_path ${dir}/cache-${name} keys_zone=${name}:1m;
      server {
        listen 127.0.0.1:${cachePorts[name]};
        location / {
          proxy_pass http://127.0.0.1:${edge.port}; proxy_set_header Host blue.example;
          proxy_cache ${name}; add_header X-Cache $upstream_cache_status always; ${more}
        }
      }`

  const ask = (target: string, headers: Record<string, string> = {}) =>
    request(edge.port, target, { host: 'blue.example', agent: PERSON, headers })

  describe('as an origin', () => {
    it('files: whole, in ranges, and not at all when they are known', async () => {
      const whole = await ask('/ten.txt')
      assert.deepEqual([whole.status, String(whole.body)], [200, '0123456789'])
      assert.match(String(whole.headers['server']), /^nginx/)
      const part = await ask('/ten.txt', { range: 'bytes=2-4' })
      assert.deepEqual([part.status, String(part.body)], [206, '234'])
      assert.equal(part.headers['content-range'], 'bytes 2-4/10')
      assert.equal((await ask('/ten.txt', { range: 'bytes=99-' })).status, 416)
      const several = await ask('/ten.txt', { range: 'bytes=0-1,8-9' })
      assert.match(several.headers['content-type'] ?? '', /^multipart\/byteranges/)
      const same = await ask('/ten.txt', { 'if-none-match': String(whole.headers.etag) })
      assert.deepEqual([same.status, same.body.length], [304, 0])
    })

    it('its redirects name its own host and port; people stay on the custom domain', async () => {
      assert.equal((await ask('/folder')).headers.location, 'http://blue.example/folder/')
      assert.equal((await ask('/here')).headers.location, 'http://blue.example/there')
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
  })

  /** `greedy`: it keeps what we say is private, as operators configure it. */
  for (const name of ['careful', 'greedy'] as const) {
    it(`with a ${name} proxy_cache in front, no form is served for another, nor a page for people to crawlers`, async () => {
      const fromCache = new Set<string>()
      for (let step = 0; step < 8 * ASKING.length; step++) {
        // In another order in each round.
        const [agent, accept, wanted] = ASKING[(step * (1 + (step % 7))) % ASKING.length]!
        const path = `/app/${name}/${step % 2}`
        for (const encoding of ['br', 'gzip', 'identity']) {
          const headers = { accept, 'accept-encoding': encoding }
          const answer = await request(cachePorts[name], path, { agent, headers })
          const what = `${agent} ${accept} ${encoding}`
          assert.deepEqual([answer.status, gotten(answer, path)], [200, wanted], what)
          assert.equal(answer.headers.vary, 'Accept, Accept-Encoding, User-Agent', what)
          if (answer.headers['x-cache'] === 'HIT') fromCache.add(wanted)
          const said = String(answer.headers['cache-status'])
          if (wanted === 'people') assert.equal(answer.headers['cache-status'], undefined)
          else if (answer.verdict === 'rendered') assert.equal(said, 'Prepaint; fwd=miss; stored')
          else assert.match(said, /^Prepaint; hit; ttl=\d+$/)
        }
      }
      const kept = name === 'careful' ? ['people'] : [...new Set(ASKING.map(([, , wanted]) => wanted))]
      assert.deepEqual([...fromCache].sort(), kept.sort())
    })
  }
}

/** What a request must get, by user agent and `Accept`. */
const ASKING = [
  [PERSON, 'text/html,*/*;q=0.8', 'people'],
  [GOOGLEBOT, '*/*', 'desktop html'],
  [GOOGLEBOT, 'text/html, text/markdown', 'desktop html'],
  [`${GOOGLEBOT} Mobile`, '*/*', 'mobile html'],
  [GOOGLEBOT, 'text/markdown', 'desktop markdown'],
  ['some-agent/1.0', 'text/markdown, text/html, */*', 'desktop markdown'],
  ['some-agent/1.0', '*/*', 'people'],
  ['some-agent/1.0 Mobile', 'text/markdown', 'mobile markdown'],
  ['facebookexternalhit/1.1', '*/*', 'desktop card'],
] as const

function gotten({ headers: { 'content-encoding': encoding }, body }: Answer, path: string): string {
  const text = String(
    encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body,
  )
  const [, by = ''] = new RegExp(`(people|desktop|mobile) ${path}`).exec(text) ?? []
  if (by === 'people') return by
  const form = text.startsWith('---') ? 'markdown' : text.includes('<nav>') ? 'html' : 'card'
  return `${by} ${form}`
}
