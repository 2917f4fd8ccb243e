import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type DomainName, wholeAccount } from '@prepaint/contract/ids.ts'
import { findOwnedDomain } from '@prepaint/service/sites/domains.ts'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { type AskOptions, GOOGLEBOT, GPTBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'

const says =
  (status: number, text = ''): RequestListener =>
  (_req, res) =>
    void res.writeHead(status).end(text)
let robots = says(200)
const TOKEN = 'a'.repeat(43)
const seen: string[] = []
const uses: string[] = []
const edge = await openEdge({
  origin: (req, res) => {
    seen.push(req.url!)
    if (req.url === '/robots.txt') robots(req, res)
    else res.end(`from the origin ${req.url}`)
  },
  parts: {
    noteRedirect: (_domain, name) => void uses.push(name),
    openHeaders: (_domain, sealed) => (sealed === null ? [] : ['X-Key', String(sealed)]),
    findChallenge: async (host, token) => (host === 'red.example' && token === TOKEN ? 'proof' : null),
  },
})

async function version(kind: string, content: unknown) {
  await edge.pool.query(
    `insert into site_version (domain_id, kind, content, author) values ($1, $2, $3, 'a test')`,
    [edge.red, kind, JSON.stringify(content)],
  )
  await edge.set('is_active = is_active')
}
const redirects = (...list: { from: string; to: string | null; status: number }[]) =>
  version('redirects', list)

const given = async (path: string, asking?: AskOptions) => {
  const { status, headers, verdict } = await edge.ask(path, asking)
  return [status, headers.location, verdict]
}

describe('redirects at the edge', () => {
  it('answer people and crawlers, before the origin and before a stored page', async () => {
    await redirects(
      { from: '/old', to: '/new', status: 301 },
      { from: '/moved/*', to: 'https://blue.example/*', status: 302 },
      { from: '/gone', to: null, status: 410 },
    )
    const asked: [path: string, asking: AskOptions, ...answer: unknown[]][] = [
      ['/old?a=1', { agent: PERSON }, 301, '/new?a=1', 'max-age=300'],
      ['/old?a=1', {}, 301, '/new?a=1', 'max-age=300'],
      ['/moved/x', { method: 'POST', body: 'x', agent: PERSON }, 302, 'https://blue.example/x', 'no-cache'],
      ['/gone', { method: 'HEAD' }, 410, undefined, 'max-age=300'],
    ]
    for (const [path, asking, ...wanted] of asked) {
      const { status, headers, verdict } = await edge.ask(path, asking)
      assert.deepEqual([status, headers.location, headers['cache-control']], wanted)
      assert.equal(verdict, 'redirect')
    }
    assert.deepEqual(seen, [])
    assert.deepEqual(uses, ['/old', '/old', '/moved/*', '/gone'])
  })

  it('win over a page that is in memory, at once, and end at once; never for another domain, or an inactive one', async () => {
    for (const verdict of ['rendered', 'hit']) assert.equal(await edge.verdict('/page'), verdict)
    await redirects({ from: '/page', to: '/new', status: 301 })
    // Also the second time, when the domain is in memory too.
    for (const _ of [1, 2]) assert.equal(await edge.verdict('/page'), 'redirect')
    assert.equal(await edge.verdict('/page', { host: 'blue.example', agent: PERSON }), 'pass; not-a-crawler')
    await edge.set('is_active = false')
    assert.equal(await edge.verdict('/page', { agent: PERSON }), 'pass; not-a-crawler')
    await edge.set('is_active = true')
    await redirects()
    assert.equal(await edge.verdict('/page'), 'hit')
  })
})

describe('robots.txt at the edge', () => {
  const TEXT = 'User-agent: GPTBot\nDisallow: /\n'
  const at = (options = {}) => edge.ask('/robots.txt', { agent: PERSON, ...options })
  const text = async () => String((await at()).body)

  it('passes the origin’s, and gives the last good one for a day while the origin fails', async () => {
    const good = 'User-agent: *\nAllow: /'
    robots = says(503, 'down')
    assert.equal((await at()).status, 503)
    robots = (_req, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(good))
    assert.equal((await at()).verdict, 'pass; not-a-crawler')
    assert.equal(await edge.verdict('/robots.txt'), 'pass; excluded')
    for (const fails of [says(500), says(429), ((req) => void req.destroy()) as RequestListener]) {
      robots = fails
      const { status, verdict, body } = await at()
      assert.deepEqual([status, verdict, String(body)], [200, 'site-file', good])
    }
    edge.wait(86_400_000)
    robots = says(503, 'down')
    assert.equal((await at()).status, 503)
  })

  it('is ours when it is replaced: type, validator, HEAD, other methods', async () => {
    await version('robots', { mode: 'replace', text: TEXT })
    await edge.settings({ robots: { mode: 'replace' } })
    const { body, verdict, headers } = await at()
    assert.deepEqual([String(body), verdict], [TEXT, 'site-file'])
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal((await at({ headers: { 'if-none-match': headers.etag! } })).status, 304)
    assert.equal((await at({ method: 'HEAD' })).headers['content-length'], `${body.length}`)
    robots = says(405)
    assert.equal((await at({ method: 'POST' })).status, 405)
  })

  it('is appended to the origin’s, which is asked once a minute; 503 without it', async () => {
    await version('robots', { mode: 'append', text: TEXT })
    await edge.settings({ robots: { mode: 'append' } })
    edge.wait(86_400_000)
    robots = says(500)
    assert.equal((await at()).status, 503)
    edge.wait(60_000)
    robots = says(200, 'User-agent: *\nDisallow: /x')
    seen.length = 0
    const found = (await findOwnedDomain(edge.pool, wholeAccount(edge.account), 'red.example' as DomainName))!
    const site = await edge.robots.siteOf(found)
    const appended = `User-agent: *\nDisallow: /x\n\n${TEXT}`
    const both = [edge.robots.served(site, 600_000), text()]
    assert.deepEqual([...(await Promise.all(both)), await text()], [appended, appended, appended])
    assert.deepEqual(seen, ['/robots.txt'])
    edge.wait(60_000)
    robots = says(200, '<!doctype html><title>an application</title>')
    assert.equal(await text(), TEXT)
    await edge.pool.query(`insert into origin_header values ($1, '[]', 'secret')`, [edge.red])
    edge.wait(60_000)
    robots = (req, res) =>
      void res.writeHead(req.headers['x-key'] === 'secret' ? 200 : 401).end('# behind a key')
    const behindKey = await edge.robots.ofOrigin(await edge.robots.siteOf(found))
    assert.equal(behindKey, '# behind a key', 'also as the API reads it')
    await edge.pool.query('delete from origin_header')
  })
})

describe('crawler policy at the edge', () => {
  const POLICY = {
    ...{ categories: { 'ai-training': 'block', ai: 'payment' }, terms_url: 'https://red.example/terms' },
  }
  before(() => edge.settings(POLICY))

  it('blocks by purpose, on every path and method, without asking the origin; not while the domain is inactive', async () => {
    seen.length = 0
    for (const [path, method] of Object.entries({ '/': 'GET', '/app.js': 'HEAD', '/form': 'POST' })) {
      const { status, verdict, headers, body } = await edge.ask(path, { agent: GPTBOT, method })
      assert.deepEqual([status, verdict], [403, 'blocked; ai-training'])
      assert.deepEqual([headers['cache-control'], headers.vary], ['no-store', 'User-Agent'])
      if (method === 'GET') assert.match(String(body), /^GPTBot may not .* owner/)
    }
    assert.deepEqual(seen, [])
    assert(!edge.rendered.includes('red.example/'))
    await edge.set('is_active = false')
    assert.equal((await edge.ask('/', { agent: GPTBOT })).status, 200)
    await edge.set('is_active = true')
  })

  it('asks AI crawlers without an entry of their own for payment, and names the terms', async () => {
    for (const [agent, category] of [
      ['Mozilla/5.0 (compatible; OAI-SearchBot/1.0; +https://openai.com/searchbot)', 'ai-search'],
      ['Mozilla/5.0 (compatible; YouBot/1.0; +https://about.you.com/youbot/)', 'ai'],
    ] as const) {
      const { status, verdict, headers } = await edge.ask('/', { agent })
      assert.deepEqual([status, verdict], [402, `payment; ${category}`])
      assert.equal(headers.link, '<https://red.example/terms>; rel="license"')
    }
    assert.equal(await edge.verdict('/page', { agent: GOOGLEBOT }), 'stale')
    assert.equal(await edge.verdict('/', { agent: PERSON }), 'pass; not-a-crawler')
  })

  it('leaves robots.txt, well-known paths, the terms and sitemaps open, also one that only the owner’s robots.txt names', async () => {
    robots = says(200)
    const open = ['/robots.txt', '/.well-known/x', '/sitemap.xml', '/terms?x=1']
    for (const path of open) assert.equal(await edge.verdict(path, { agent: GPTBOT }), 'pass; category', path)
    assert.equal(await edge.verdict('/products.xml', { agent: GPTBOT }), 'blocked; ai-training')
    await version('robots', { mode: 'append', text: 'Sitemap: https://red.example/products.xml' })
    await edge.settings({ ...POLICY, robots: { mode: 'append' } })
    assert.equal(await edge.verdict('/products.xml', { agent: GPTBOT }), 'pass; category')
  })
})

it('preferences stand with hits, rendered pages and their 304, and never with passed answers', async () => {
  await edge.settings({ preferences: { search: 'allow', ai_train: 'deny' } })
  const said = async (path: string, asking?: AskOptions) => {
    const { verdict, status, headers } = await edge.ask(path, asking)
    return [verdict, status, headers['content-usage'], headers['content-signal']]
  }
  const headers = Object.entries({ 'content-usage': 'search=n, other=y', 'content-signal': 'ai-input=no' })
  edge.script({ kind: 'rendered', status: 200, headers, html: '<p>said by the origin</p>' })
  const joined = ['other=y, search=y, train-ai=n', 'ai-input=no, search=yes, ai-train=no']
  for (const verdict of ['rendered', 'hit']) assert.deepEqual(await said('/said'), [verdict, 200, ...joined])
  const known = await said('/page', { headers: { 'if-none-match': '*' } })
  assert.deepEqual(known.slice(1), [304, 'search=y, train-ai=n', 'search=yes, ai-train=no'])
  assert.equal((await said('/page', { agent: PERSON }))[2], undefined)
  await edge.settings({})
  assert.equal((await said('/said'))[2], 'search=n, other=y')
  assert.equal((await said('/page'))[2], undefined)
})

describe('a generated sitemap at the edge', () => {
  const list = (from: number, to: number) =>
    edge.pool.query(
      `insert into page_fact (domain_id, path, text_hash, changed_at, rendered_at, is_listed)
       select $1, '/p' || lpad(n::text, 6, '0') || '?a&b', '', '2026-01-02T03:04:05.6Z', $4, true
         from generate_series($2::int, $3::int) n on conflict do nothing`,
      [edge.red, from, to, new Date(edge.nowMs())],
    )
  const at = (path: string) => edge.ask(path, { agent: PERSON })

  it('has the listed pages in order, without those that robots.txt forbids, a redirect or a rule takes away, or are too old', async () => {
    await version('robots', { mode: 'replace', text: 'User-agent: *\nDisallow: /p000002' })
    await redirects({ from: '/p000003', to: '/x', status: 301 })
    const rules = [{ path: '/p000005*', action: 'gone' }]
    await edge.settings({ sitemap: 'generate', robots: { mode: 'replace' }, rules })
    assert.equal((await at('/sitemap.xml')).status, 404)
    await list(1, 5)
    const map = await at('/sitemap.xml')
    assert.equal(map.verdict, 'site-file')
    assert.equal(map.headers['content-type'], 'application/xml; charset=utf-8')
    assert.equal(
      String(map.body),
      `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://red.example/p000001?a&amp;b</loc><lastmod>2026-01-02T03:04:05Z</lastmod></url>
<url><loc>https://red.example/p000004?a&amp;b</loc><lastmod>2026-01-02T03:04:05Z</lastmod></url>
</urlset>
`,
    )
    assert.match(String((await at('/robots.txt')).body), /\nSitemap: https:\/\/red\.example\/sitemap\.xml\n$/)
    await edge.pool.query(`update page_fact set rendered_at = rendered_at - interval '31 days'`)
    assert.equal((await at('/sitemap.xml')).status, 404)
    await edge.pool.query('delete from page_fact')
  })

  it('is an index if there are more than 50,000 pages', async () => {
    await redirects()
    await edge.settings({ sitemap: 'generate' })
    const urls = async (path: string) => String((await at(path)).body).split('<loc>').length - 1
    await list(1, 50_000)
    assert.equal(await urls('/sitemap.xml'), 50_000)
    assert.equal((await at('/sitemap-1.xml')).verdict, 'pass; not-a-crawler')
    await list(50_001, 50_001)
    const index = String((await at('/sitemap.xml')).body)
    assert.match(index, /<sitemapindex.*sitemap-1\.xml<.*sitemap-2\.xml</s)
    assert.deepEqual([await urls('/sitemap-1.xml'), await urls('/sitemap-2.xml')], [50_000, 1])
    assert.equal((await at('/sitemap-3.xml')).verdict, 'pass; not-a-crawler')
  })
})

describe('https_redirect', () => {
  before(() => edge.reset())
  /** Of a domain that wants https, a certificate that is valid for so long. */
  const certify = async (ms: number, of = edge) => {
    await of.pool.query(
      `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
       values ($1, 'own', '', '', $2, $3)
       on conflict (domain_id) do update set not_after = excluded.not_after`,
      [of.red, new Date(of.nowMs() - 1_000), new Date(of.nowMs() + ms)],
    )
    await of.settings({ https_redirect: true })
  }
  const status = async (path: string, asking: AskOptions = {}, of = edge) =>
    (await of.ask(path, { agent: PERSON, ...asking })).status

  // Proves decided "Plain HTTP"
  it('people and crawlers are redirected to the same URL by https, also from a page in memory; other methods keep their body', async () => {
    await certify(-1)
    for (const verdict of ['rendered', 'hit'])
      assert.deepEqual(await given('/ready'), [200, undefined, verdict])
    await certify(60_000)
    const there = 'https://red.example/x?b=1&a=%2F'
    for (const asking of [{ agent: PERSON }, {}, { method: 'HEAD' }, { host: 'RED.example:8080' }]) {
      assert.deepEqual(await given('/x?b=1&a=%2F', asking), [301, there, 'none; https'])
    }
    assert.deepEqual(await given('/ready'), [301, 'https://red.example/ready', 'none; https'])
    const post = { method: 'POST', body: 'a=1', agent: PERSON }
    assert.deepEqual(await given('/x?b=1&a=%2F', post), [308, there, 'none; https'])
    // A path that would be another host is none once it stands behind ours.
    assert.equal((await given('//evil.example/'))[1], 'https://red.example//evil.example/')
  })

  it('does not redirect other domains, a domain without a certificate, or one whose certificate has ended', async () => {
    await edge.pool.query('delete from certificate')
    await edge.settings({ https_redirect: true })
    assert.equal(await status('/x'), 200)
    await certify(60_000)
    assert.equal(await status('/x', { host: 'blue.example' }), 200)
    edge.wait(59_999)
    assert.equal(await status('/y'), 301)
    edge.wait(1)
    assert.equal(await status('/y'), 200)
  })

  it('the scheme that a trusted proxy names counts, and that of another client does not', async (t) => {
    const forwarded = { headers: { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' } }
    await certify(60_000)
    assert.equal(await status('/z', forwarded), 301)
    const { clients } = loadConfig({ PREPAINT_TRUSTED_PROXIES: '127.0.0.1' })
    const behind = await openEdge({ clients }, t)
    await certify(86_400_000, behind)
    assert.equal(await status('/z', {}, behind), 301)
    assert.equal(await status('/z', forwarded, behind), 200)
  })

  // Proves decided "Plain HTTP"
  it('a CA that asks for our proof gets it before any redirect, and other tokens are handled as usual', async () => {
    await certify(60_000)
    const challenge = `/.well-known/acme-challenge/${TOKEN}`
    const proof = await edge.ask(challenge, { host: 'RED.example.:80', agent: null })
    assert.deepEqual([proof.status, proof.body.toString()], [200, 'proof'])
    assert.equal(proof.headers['content-type'], 'application/octet-stream')
    const head = await edge.ask(challenge, { method: 'HEAD' })
    assert.deepEqual([head.status, head.body.length, head.headers['content-length']], [200, 0, '5'])
    await edge.set('is_active = false')
    assert.equal((await edge.ask(challenge)).body.toString(), 'proof')
    // The origin may order certificates of its own.
    const theirs = await edge.ask(challenge, { host: 'blue.example', agent: PERSON })
    assert.match(theirs.body.toString(), /acme-challenge/)
    for (const token of ['short', `${TOKEN}/x`, `${TOKEN}?x`, '../'.repeat(10)]) {
      const verdict = await edge.verdict(`/.well-known/acme-challenge/${token}`, { host: 'blue.example' })
      assert.match(verdict ?? '', /^(pass|rendered)/, token)
    }
  })
})
