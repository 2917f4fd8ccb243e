/** nginx before the edge as the operator's own cache. */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type Answer, GOOGLEBOT, PERSON, request, startTestEdge, type TestEdge } from './support/edge.ts'
import { openFolder } from './support/folder.ts'
import { freePort } from './support/loopback.ts'
import { hasNginx, startNginx } from './support/nginx.ts'

if (hasNginx) describe('nginx', { timeout: 240_000 }, tryNginx)

function tryNginx(): void {
  const dir = openFolder()
  const ports = { careful: 0, greedy: 0 }
  let edge: TestEdge
  let nginx: Awaited<ReturnType<typeof startNginx>> | undefined

  before(async () => {
    edge = await startTestEdge({
      conversionMs: 60_000,
      render: async ({ page: { path, variant } }) => {
        const html = `<!DOCTYPE html><html><head><title>${variant} ${path}</title></head><body><nav>menu</nav><main><p>${variant} ${path}</p></main></body></html>`
        return { kind: 'rendered', status: 200, headers: [], html }
      },
      origin: (req, res) => {
        res.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'public, max-age=600' })
        res.end(`people ${req.url}`)
      },
    })
    chmodSync(dir, 0o755)
    Object.assign(ports, { careful: await freePort(), greedy: await freePort() })
    const ignoring = 'proxy_ignore_headers Cache-Control; proxy_cache_valid 10m;'
    nginx = await startNginx(ports.careful, caching('careful', '') + caching('greedy', ignoring))
    await edge.settings({ cards: 'on', devices: 'both' }, 'blue.example')
  })
  after(async () => {
    await nginx?.close()
    await edge?.close()
  })

  const caching = (name: keyof typeof ports, more: string) => `
      proxy_cache_path ${dir}/cache-${name} keys_zone=${name}:1m;
      server {
        listen 127.0.0.1:${ports[name]};
        location / {
          proxy_pass http://127.0.0.1:${edge.port}; proxy_set_header Host blue.example;
          proxy_cache ${name}; add_header X-Cache $upstream_cache_status always; ${more}
        }
      }`

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
          const answer = await request(ports[name], path, { agent, headers })
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
