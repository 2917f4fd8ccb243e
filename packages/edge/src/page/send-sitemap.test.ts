import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { beforeEach, describe, it } from 'node:test'
import zlib from 'node:zlib'
import { until } from '../../../../test/support/condition.ts'
import { openEdge, PERSON, path } from '../../../../test/support/edge.ts'
import { FETCHING_LIMIT } from '../sitemaps/cache.ts'

const HOUR = 3_600_000
type Reply = {
  status?: number
  body: string | Buffer
  type?: string
  encoding?: string
  after?: Promise<void>
}

let site: Record<string, Reply>
let asked: string[]
const edge = await openEdge({
  origin: async (req, res) => {
    asked.push(req.url!)
    const reply = site[req.url!] ?? { status: 404, body: '' }
    await reply.after
    res.setHeader('content-type', reply.type ?? 'application/xml')
    if (reply.encoding !== undefined) res.setHeader('content-encoding', reply.encoding)
    res.writeHead(reply.status ?? 200).end(reply.body)
  },
})
beforeEach(async () => {
  asked = []
  site = {}
  // Fetches and purges are told apart by their time.
  edge.wait(1)
  await edge.pool.query('delete from known_path')
  await edge.reset()
})

const urlset = (...locations: string[]) =>
  `<urlset>${locations.map((location) => `<url><loc>${location}</loc></url>`).join('')}</urlset>`
const atOrigin = (page: string) => urlset(`${edge.origin}${page}`)
const shown = (page: string) => urlset(`https://red.example${page}`)
const ask = async (of = '/sitemap.xml') => {
  const { verdict, body } = await edge.ask(of)
  return [verdict, String(body)]
}

async function known(): Promise<string[]> {
  const all = `select path from known_path where source = 'sitemap' and domain_id = $1 order by path`
  return (await edge.pool.query<{ path: string }>(all, [edge.red])).rows.map(({ path }) => path)
}

async function verdicts(...paths: string[]): Promise<string> {
  const seen: (string | undefined)[] = []
  for (const path of paths) seen.push(await edge.verdict(path))
  return seen.join(', ')
}

it('a fetch that began before a purge answers who waits for it and is not kept; later requests get what is there then', async () => {
  const slow = Promise.withResolvers<void>()
  site['/sitemap.xml'] = { body: atOrigin('/old'), after: slow.promise }
  const first = ask()
  await until('it is asked for', () => asked.length === 1)
  await edge.purge({ kind: 'path', path: path('/elsewhere') }).then(edge.settled)
  site['/sitemap.xml'] = { body: atOrigin('/new') }
  assert.deepEqual((await ask())[1], shown('/new'))
  slow.resolve()
  assert.deepEqual((await first)[1], shown('/old'))
  assert.deepEqual([await ask(), asked.length], [['hit', shown('/new')], 2])
})

it('a sitemap is deleted again where the purge is heard of only once it is stored; a refresh of a page is no purge', async () => {
  site['/sitemap.xml'] = { body: atOrigin('/a') }
  const kept = async () => (await edge.pool.query('select from sitemap')).rowCount
  const notify = (what: object) =>
    edge.pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify(what)]).then(edge.settled)
  await ask()
  await notify({ domain: edge.red, path: '/a' })
  await notify({ domain: edge.blue })
  assert.equal(await kept(), 1)
  // Its delete did not see what was not committed yet.
  await notify({ domain: edge.red, prefix: '/x', purged: true })
  await until('it is deleted', async () => (await kept()) === 0)
})

describe('a sitemap', () => {
  it('is fetched once, with the custom domain in it, and its pages are known; people get it as the origin has it', async () => {
    const others = ['https://red.example/b?utm_source=x', 'https://else.example/c']
    site['/sitemap.xml'] = { body: urlset(`${edge.origin}/a?b=1&amp;a=2`, ...others) }
    const expected = urlset('https://red.example/a?b=1&amp;a=2', ...others)
    assert.deepEqual(await ask(), ['pass; sitemap', expected])
    const { status, headers } = await edge.ask('/sitemap.xml', { method: 'HEAD' })
    assert.deepEqual([status, headers['content-type']], [200, 'application/xml'])
    assert.deepEqual(await ask(), ['hit', expected])
    assert.deepEqual(asked, ['/sitemap.xml'])
    assert.deepEqual(await known(), ['/a?a=2&b=1', '/b'])
    const person = await edge.ask('/sitemap.xml', { agent: PERSON })
    assert.equal(person.verdict, 'pass; not-a-crawler')
    assert(String(person.body).includes(edge.origin))
  })

  it('is served as gzip to clients that accept it, with its own ETag, and as 304', async () => {
    site['/sitemap.xml'] = { body: atOrigin('/a') }
    const plain = await edge.ask('/sitemap.xml')
    const packed = await edge.ask('/sitemap.xml', { headers: { 'accept-encoding': 'br, gzip' } })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert(zlib.gunzipSync(packed.body).equals(plain.body))
    assert.notEqual(packed.headers.etag, plain.headers.etag)
    const again = await edge.ask('/sitemap.xml', { headers: { 'if-none-match': plain.headers.etag! } })
    assert.deepEqual([again.status, again.body.length], [304, 0])
  })

  it('that is a gzip file stays one, with other locations in it; one that was only sent as gzip is none', async () => {
    const body = zlib.gzipSync(atOrigin('/a'))
    site['/sitemap.xml.gz'] = { type: 'application/gzip', body }
    for (const wanted of ['pass; sitemap', 'hit']) {
      const packed = await edge.ask('/sitemap.xml.gz', { headers: { 'accept-encoding': 'gzip' } })
      assert.deepEqual([packed.verdict, String(zlib.gunzipSync(packed.body))], [wanted, shown('/a')])
      assert.equal(packed.headers['content-encoding'], undefined)
    }
    site['/sitemap.xml'] = { body, encoding: 'gzip' }
    assert.deepEqual((await ask())[1], shown('/a'))
  })

  it('is kept for an hour, fetched again, and kept on while the origin fails or is slow to send; it goes with any purge of the domain', async () => {
    site['/sitemap.xml'] = { body: atOrigin('/one') }
    await ask()
    edge.wait(HOUR - 1)
    assert.equal((await ask())[0], 'hit')
    edge.wait(1)
    site['/sitemap.xml'] = { status: 503, body: '' }
    assert.deepEqual(await ask(), ['stale', shown('/one')])
    const { promise: after, resolve } = Promise.withResolvers<void>()
    site['/sitemap.xml'] = { body: atOrigin('/two'), after }
    assert.deepEqual(await ask(), ['stale', shown('/one')])
    resolve()
    await until('what came is kept', async () => (await ask())[1] === shown('/two'))
    await edge.purge({ kind: 'path', path: path('/else') })
    assert.equal((await ask())[0], 'pass; sitemap')
  })

  const gzip = 'application/gzip'
  it('that unpacks to 50 MiB is kept; with a byte more it comes from the origin, each time', async () => {
    for (const [path, bytes, wanted] of [
      ['/sitemap-at.xml.gz', 50 * 2 ** 20, 'hit'],
      ['/sitemap-over.xml.gz', 50 * 2 ** 20 + 1, 'pass; sitemap'],
    ] as const) {
      const map = atOrigin('/a')
      const filled = map.replace('<url>', `${' '.repeat(bytes - map.length)}<url>`)
      site[path] = { type: gzip, body: zlib.gzipSync(filled) }
      assert.equal(await verdicts(path, path), `pass; sitemap, ${wanted}`)
    }
  })

  it('that is missing, an application shell or broken comes from the origin as it is, each time', async () => {
    for (const reply of [
      { status: 404, body: 'no such page' },
      { type: 'text/html', body: '<!doctype html><div id="app"></div>' },
      { type: gzip, body: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]) },
    ] as Reply[]) {
      site['/sitemap.xml'] = reply
      for (const _ of [1, 2]) {
        const { status, verdict, body } = await edge.ask('/sitemap.xml')
        assert.deepEqual([status, verdict], [reply.status ?? 200, 'pass; sitemap'])
        assert(body.equals(Buffer.from(reply.body)))
      }
    }
    assert.deepEqual(await known(), [])
  })
})

it('an origin that forces https, and moved its sitemap, gets its sitemap and robots.txt into the cache', async (t) => {
  const origin: RequestListener = ({ headers, url }, res) => {
    const isHttps = headers['x-forwarded-proto'] === 'https'
    if (!isHttps) res.writeHead(301, { location: `https://${headers['x-forwarded-host']}${url}` }).end()
    else if (url === '/robots.txt') res.end('Sitemap: /map')
    else if (url === '/moved.xml') res.end(urlset('/a'))
    else res.writeHead(302, { location: '/moved.xml' }).end()
  }
  const secure = await openEdge({ origin }, t)
  for (const verdict of ['pass; sitemap', 'hit']) {
    const got = await secure.ask('/sitemap.xml')
    assert.deepEqual([got.verdict, String(got.body)], [verdict, urlset('/a')])
  }
  assert.equal(await secure.verdict('/map'), 'pass; sitemap')
})

it('at the limit of an account sitemaps are fetched, one more is passed, and another account is served', async (t) => {
  const share = FETCHING_LIMIT / 2
  const passed: string[] = []
  const held: (() => void)[] = []
  const origin: RequestListener = ({ headers, url }, res) => {
    // Only what is passed says for whom.
    if (headers['x-forwarded-for'] !== undefined) passed.push(url!)
    else if (headers['x-forwarded-host'] === 'red.example') return void held.push(() => res.end(urlset()))
    res.end(urlset('/blue'))
  }
  const busy = await openEdge({ origin }, t)
  await busy.pool.query(
    `with other as (insert into account (email, plan) values ('blue@example.com', 'starter') returning id)
     update domain set account_id = (select id from other) where custom_domain = 'blue.example'`,
  )
  const answers = Promise.all(Array.from({ length: share }, (_, at) => busy.ask(`/sitemap-${at}.xml`)))
  await until('all are fetched', () => held.length === share)
  assert.equal(await busy.verdict('/sitemap-more.xml'), 'pass; sitemap')
  const blue = await busy.ask('/sitemap.xml', { host: 'blue.example' })
  assert.equal(String(blue.body), urlset('/blue'))
  assert.deepEqual([passed, held.length], [['/sitemap-more.xml'], share])
  for (const end of held) end()
  assert((await answers).every(({ body }) => String(body) === urlset()))
})

describe('a sitemap that only its naming tells', () => {
  it('is found by robots.txt, under either host, relative or not, whatever its path looks like', async () => {
    const lines = ['User-agent: *', `Sitemap: ${edge.origin}/map-of-everything`, ' sitemap:/second # here']
    lines.push(`Sitemap: ${edge.origin}/my-map.xml`, 'Sitemap: https://else.example/third')
    site['/robots.txt'] = { type: 'text/plain', body: lines.join('\n') }
    const named = ['/map-of-everything', '/second', '/my-map.xml']
    for (const map of named) site[map] = { body: atOrigin(`${map}/a`) }
    site['/feed.xml'] = { body: '<rss/>' }
    for (const map of named) assert.deepEqual(await ask(map), ['pass; sitemap', shown(`${map}/a`)])
    assert.equal(await verdicts(...named, '/third', '/feed.xml'), 'hit, hit, hit, rendered, pass; asset')
    assert.equal(asked.filter((url) => url === '/robots.txt').length, 1)
    assert.deepEqual(await known(), named.map((map) => `${map}/a`).sort())
  })

  it('is found by an index, which names no pages', async () => {
    const index = `<sitemapindex><sitemap><loc>${edge.origin}/products</loc></sitemap></sitemapindex>`
    site['/sitemap_index.xml'] = { body: index }
    site['/products'] = { body: atOrigin('/p/1') }
    assert.match((await ask('/sitemap_index.xml'))[1]!, /<loc>https:\/\/red\.example\/products<\/loc>/)
    assert.deepEqual(await known(), [])
    assert.equal(await verdicts('/products', '/products'), 'pass; sitemap, hit')
    assert.deepEqual(await known(), ['/p/1'])
    // A node that never saw the index knows it from the store.
    const other = await edge.node()
    assert.equal(await other.verdict('/products'), 'hit')
    await other.close()
  })

  it('a site that names its front page a sitemap is rendered all the same', async () => {
    site['/robots.txt'] = { type: 'text/plain', body: `Sitemap: ${edge.origin}/` }
    assert.equal(await edge.verdict('/'), 'rendered')
  })
})
