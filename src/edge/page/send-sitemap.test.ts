import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import zlib from 'node:zlib'
import { type Answer, PERSON, path, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { FETCHING_LIMIT } from '../../sitemaps/cache.ts'

const HOUR = 3_600_000
type Reply = {
  status?: number
  type?: string
  body: string | Buffer
  encoding?: string
  after?: Promise<void>
}

let edge: TestEdge
let site: Record<string, Reply>
let asked: string[]
before(async () => {
  edge = await startTestEdge({
    origin: async (req: http.IncomingMessage, res: http.ServerResponse) => {
      asked.push(req.url!)
      const reply = site[req.url!]
      await reply?.after
      res.writeHead(reply?.status ?? (reply ? 200 : 404), {
        'content-type': reply?.type ?? 'application/xml',
        ...(reply?.encoding ? { 'content-encoding': reply.encoding } : {}),
      })
      res.end(reply?.body)
    },
  })
})
after(() => edge.close())
beforeEach(async () => {
  asked = []
  site = {}
  await edge.purge({ kind: 'all' })
  // What the purge takes back of the test before is known by when it was fetched.
  edge.wait(1)
  await edge.pool.query('delete from known_path')
  // Other settings: what was read of robots.txt is read again.
  await edge.set(`settings = '{}'`).then(edge.settled)
})

describe('a fetch that began before a purge', () => {
  it('answers who waits for it and is not kept; who asks after the purge gets what is there then', async () => {
    const slow = Promise.withResolvers<void>()
    site['/sitemap.xml'] = { body: urlset(`${origin()}/old`), after: slow.promise }
    const first = edge.ask('/sitemap.xml')
    while (asked.length === 0) await new Promise(setImmediate)
    await edge.purge({ kind: 'path', path: path('/elsewhere') }).then(edge.settled)
    site['/sitemap.xml'] = { body: urlset(`${origin()}/new`) }
    const second = await edge.ask('/sitemap.xml')
    assert.match(String(second.body), /red\.example\/new/)
    slow.resolve()
    assert.match(String((await first).body), /red\.example\/old/)
    const third = await edge.ask('/sitemap.xml')
    assert.deepEqual([third.verdict, asked.length], ['hit', 2])
    assert.match(String(third.body), /red\.example\/new/)
  })

  it('is deleted again where the purge is heard of only once it is stored; a refresh of a page is no purge', async () => {
    site['/sitemap.xml'] = { body: urlset(`${origin()}/a`) }
    const kept = async () => (await edge.pool.query('select from sitemap')).rowCount
    await edge.ask('/sitemap.xml')
    const notify = (what: object) =>
      edge.pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify(what)]).then(edge.settled)
    await notify({ domain: edge.red, path: '/a' })
    await notify({ domain: edge.blue })
    assert.equal(await kept(), 1)
    // Its delete did not see what was not committed yet.
    await notify({ domain: edge.red, prefix: '/x', purged: true })
    while ((await kept()) === 1);
  })
})

const urlset = (...locations: string[]) =>
  `<urlset>${locations.map((location) => `<url><loc>${location}</loc></url>`).join('')}</urlset>`
const origin = () => edge.origin

async function known(): Promise<string[]> {
  const { rows } = await edge.pool.query<{ path: string }>(
    `select path from known_path where source = 'sitemap' and domain_id = $1 order by path`,
    [edge.red],
  )
  return rows.map(({ path }) => path)
}

async function verdicts(...paths: string[]): Promise<(string | undefined)[]> {
  const seen: (string | undefined)[] = []
  for (const path of paths) seen.push(await edge.verdict(path))
  return seen
}

describe('a sitemap', () => {
  it('is fetched once, with the custom domain in it, and its pages are known', async () => {
    site['/sitemap.xml'] = {
      body: urlset(
        `${origin()}/a?b=1&amp;a=2`,
        'https://red.example/b?utm_source=x',
        'https://else.example/c',
      ),
    }
    const first = await edge.ask('/sitemap.xml')
    assert.deepEqual([first.status, first.verdict], [200, 'pass; sitemap'])
    const expected = urlset(
      'https://red.example/a?b=1&amp;a=2',
      'https://red.example/b?utm_source=x',
      'https://else.example/c',
    )
    assert.equal(String(first.body), expected)
    assert.equal(first.headers['content-type'], 'application/xml')
    const second = await edge.ask('/sitemap.xml')
    assert.deepEqual([second.verdict, String(second.body)], ['hit', expected])
    assert.deepEqual(asked, ['/sitemap.xml'])
    assert.deepEqual(await known(), ['/a?a=2&b=1', '/b'])
  })

  it('is served as gzip to whoever takes it, with its own ETag, and 304', async () => {
    site['/sitemap.xml'] = { body: urlset(`${origin()}/a`) }
    const plain = await edge.ask('/sitemap.xml')
    const packed = await edge.ask('/sitemap.xml', { headers: { 'accept-encoding': 'br, gzip' } })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert(zlib.gunzipSync(packed.body).equals(plain.body))
    assert.notEqual(packed.headers.etag, plain.headers.etag)
    const again = await edge.ask('/sitemap.xml', { headers: { 'if-none-match': plain.headers.etag! } })
    assert.deepEqual([again.status, again.body.length], [304, 0])
    const head = await edge.ask('/sitemap.xml', { method: 'HEAD' })
    assert.deepEqual([head.status, head.body.length, head.verdict], [200, 0, 'hit'])
  })

  it('that is a gzip file stays one, with other locations in it', async () => {
    site['/sitemap.xml.gz'] = { type: 'application/gzip', body: zlib.gzipSync(urlset(`${origin()}/a`)) }
    for (const verdict of ['pass; sitemap', 'hit']) {
      const got = await edge.ask('/sitemap.xml.gz', { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(got.verdict, verdict)
      assert.equal(got.headers['content-encoding'], undefined)
      assert.equal(got.headers['content-type'], 'application/gzip')
      assert.equal(String(zlib.gunzipSync(got.body)), urlset('https://red.example/a'))
    }
  })

  it('that was only sent as gzip is none', async () => {
    site['/sitemap.xml'] = { body: zlib.gzipSync(urlset(`${origin()}/a`)), encoding: 'gzip' }
    assert.equal(String((await edge.ask('/sitemap.xml')).body), urlset('https://red.example/a'))
  })

  it('is kept for an hour, fetched again, and kept on while the origin fails', async () => {
    site['/sitemap.xml'] = { body: urlset(`${origin()}/one`) }
    await edge.ask('/sitemap.xml')
    edge.wait(HOUR - 1)
    assert.equal(await edge.verdict('/sitemap.xml'), 'hit')
    edge.wait(1)
    site['/sitemap.xml'] = { status: 503, body: '' }
    const stale = await edge.ask('/sitemap.xml')
    assert.deepEqual([stale.verdict, String(stale.body)], ['stale', urlset('https://red.example/one')])
    site['/sitemap.xml'] = { body: urlset(`${origin()}/two`) }
    const fresh = await edge.ask('/sitemap.xml')
    assert.deepEqual(
      [fresh.verdict, String(fresh.body)],
      ['pass; sitemap', urlset('https://red.example/two')],
    )
  })

  it('that the origin is slow to send is given as it was; what comes is kept', async () => {
    site['/sitemap.xml'] = { body: urlset(`${origin()}/one`) }
    await edge.ask('/sitemap.xml')
    edge.wait(HOUR)
    const { promise: after, resolve } = Promise.withResolvers<void>()
    site['/sitemap.xml'] = { body: urlset(`${origin()}/two`), after }
    const stale = await edge.ask('/sitemap.xml')
    assert.deepEqual([stale.verdict, String(stale.body)], ['stale', urlset('https://red.example/one')])
    resolve()
    let fresh = stale
    while (fresh.verdict === 'stale') fresh = await edge.ask('/sitemap.xml')
    assert.equal(String(fresh.body), urlset('https://red.example/two'))
    assert.deepEqual(asked, ['/sitemap.xml', '/sitemap.xml'])
  })

  it('goes with any purge of the domain', async () => {
    site['/sitemap.xml'] = { body: urlset(`${origin()}/a`) }
    await edge.ask('/sitemap.xml')
    await edge.purge({ kind: 'path', path: '/else' as never })
    assert.equal(await edge.verdict('/sitemap.xml'), 'pass; sitemap')
  })

  it('goes to people as the origin has it', async () => {
    site['/sitemap.xml'] = { body: urlset(`${origin()}/a`) }
    const got = await edge.ask('/sitemap.xml', { agent: PERSON })
    assert.deepEqual([got.verdict, String(got.body)], ['pass; not-a-crawler', urlset(`${origin()}/a`)])
  })

  const NONE: Record<string, Reply> = {
    'is not there': { status: 404, body: 'no such page' },
    'is a redirect': { status: 301, body: 'elsewhere' },
    'is an application shell': { type: 'text/html', body: '<!doctype html><div id="app"></div>' },
    'is empty': { body: '' },
    'is broken gzip': { type: 'application/gzip', body: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]) },
    'would unpack to more than 50 MiB': {
      type: 'application/gzip',
      body: zlib.gzipSync(urlset(' '.repeat(51 * 1024 * 1024))),
    },
  }
  for (const [name, reply] of Object.entries(NONE)) {
    it(`that ${name} comes from the origin as it is, each time`, async () => {
      site['/sitemap.xml'] = reply
      for (const _ of [1, 2]) {
        const got: Answer = await edge.ask('/sitemap.xml')
        assert.deepEqual([got.status, got.verdict], [reply.status ?? 200, 'pass; sitemap'])
        assert(got.body.equals(Buffer.from(reply.body)))
      }
      assert.deepEqual(await known(), [])
    })
  }
})

describe('an origin that forces https, and moved its sitemap', () => {
  it('gets its sitemap and robots.txt into the cache', async () => {
    const secure = await startTestEdge({
      origin: (req, res) => {
        if (req.headers['x-forwarded-proto'] !== 'https') {
          return void res
            .writeHead(301, { location: `https://${req.headers['x-forwarded-host']}${req.url}` })
            .end()
        }
        if (req.url === '/robots.txt') return void res.end('Sitemap: /map')
        if (req.url === '/moved.xml') return void res.end(urlset('/a'))
        res.writeHead(302, { location: '/moved.xml' }).end()
      },
    })
    try {
      const first = await secure.ask('/sitemap.xml')
      assert.deepEqual(
        [first.status, first.verdict, String(first.body)],
        [200, 'pass; sitemap', urlset('/a')],
      )
      assert.equal(await secure.verdict('/sitemap.xml'), 'hit')
      assert.equal(await secure.verdict('/map'), 'pass; sitemap')
    } finally {
      await secure.close()
    }
  })
})

it('so many are fetched at once for one account, and one more is passed; another account is served at once', async () => {
  const share = FETCHING_LIMIT / 2
  const passed: string[] = []
  const held: (() => void)[] = []
  const busy = await startTestEdge({
    origin: (req, res) => {
      // Only what is passed says for whom.
      if (req.headers['x-forwarded-for'] !== undefined) {
        passed.push(req.url!)
        return void res.end(urlset())
      }
      if (req.headers['x-forwarded-host'] === 'blue.example') return void res.end(urlset('/blue'))
      held.push(() => res.end(urlset()))
    },
  })
  try {
    await busy.pool.query(
      `with other as (insert into account (email, plan) values ('blue@example.com', 'starter') returning id)
       update domain set account_id = (select id from other) where custom_domain = 'blue.example'`,
    )
    const paths = Array.from({ length: share }, (_, at) => `/sitemap-${at}.xml`)
    const answers = Promise.all(paths.map((path) => busy.ask(path)))
    while (held.length < share) await new Promise(setImmediate)
    assert.equal((await busy.ask('/sitemap-more.xml')).verdict, 'pass; sitemap')
    assert.deepEqual(passed, ['/sitemap-more.xml'])
    const blue = await busy.ask('/sitemap.xml', { host: 'blue.example' })
    assert.equal(String(blue.body), urlset('/blue'))
    assert.deepEqual([passed.length, held.length], [1, share])
    for (const end of held) end()
    assert((await answers).every(({ body }) => String(body) === urlset()))
  } finally {
    await busy.close()
  }
})

describe('a sitemap that only its naming tells', () => {
  it('by robots.txt, under either host, relative or not', async () => {
    site['/robots.txt'] = {
      type: 'text/plain',
      body: `User-agent: *\nSitemap: ${origin()}/map-of-everything\n sitemap:/second # here\nSitemap: https://else.example/third`,
    }
    for (const path of ['/map-of-everything', '/second'])
      site[path] = { body: urlset(`${origin()}${path}/a`) }
    assert.deepEqual(await verdicts('/map-of-everything', '/second', '/third', '/map-of-everything'), [
      'pass; sitemap',
      'pass; sitemap',
      'rendered',
      'hit',
    ])
    assert.equal(asked.filter((url) => url === '/robots.txt').length, 1)
  })

  it('by robots.txt, where the path looks like a file of any kind', async () => {
    site['/robots.txt'] = { type: 'text/plain', body: `Sitemap: ${origin()}/my-map.xml` }
    site['/my-map.xml'] = { body: urlset(`${origin()}/m/1`) }
    site['/feed.xml'] = { body: '<rss/>' }
    const map = await edge.ask('/my-map.xml')
    assert.deepEqual([map.verdict, String(map.body)], ['pass; sitemap', urlset('https://red.example/m/1')])
    assert.deepEqual(await verdicts('/my-map.xml', '/feed.xml'), ['hit', 'pass; asset'])
    assert.deepEqual(await known(), ['/m/1'])
  })

  it('by an index, which names no pages', async () => {
    site['/sitemap_index.xml'] = {
      body: `<sitemapindex><sitemap><loc>${origin()}/products</loc></sitemap></sitemapindex>`,
    }
    site['/products'] = { body: urlset(`${origin()}/p/1`) }
    const index = await edge.ask('/sitemap_index.xml')
    assert.match(String(index.body), /<loc>https:\/\/red\.example\/products<\/loc>/)
    assert.deepEqual(await known(), [])
    assert.deepEqual(await verdicts('/products', '/products'), ['pass; sitemap', 'hit'])
    assert.deepEqual(await known(), ['/p/1'])
    // A node that never saw the index knows it from the store.
    const other = await edge.node()
    assert.equal(await other.verdict('/products'), 'hit')
    await other.close()
  })

  it('a site that names its front page a sitemap is rendered all the same', async () => {
    site['/robots.txt'] = { type: 'text/plain', body: `Sitemap: ${origin()}/` }
    assert.equal(await edge.verdict('/'), 'rendered')
  })
})
