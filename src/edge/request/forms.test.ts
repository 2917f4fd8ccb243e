import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { until } from '../../../test/support/condition.ts'
import {
  type Answer,
  type AskOptions,
  GOOGLEBOT,
  PERSON,
  startTestEdge,
  type TestEdge,
} from '../../../test/support/edge.ts'
import type { RenderOutcome } from '../../render/outcome.ts'

const FACEBOOK = 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)'
const AGENT = 'some-agent/1.0'
const MD = { accept: 'text/markdown' }
const VARY = 'Accept, Accept-Encoding, User-Agent'

const page = (
  body: string,
  { head = '', ...rest }: Partial<Extract<RenderOutcome, { kind: 'rendered' }>> & { head?: string } = {},
): RenderOutcome => ({
  ...{
    kind: 'rendered',
    status: 200,
    headers: [
      ['Content-Type', 'text/html'],
      ['X-Kept', 'yes'],
      ['Link', '</style.css>; rel=preload'],
    ],
  },
  ...rest,
  html: `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A rake</title>${head}</head><body><nav>menu</nav><main><h1>Rake</h1><p>${body}</p></main></body></html>`,
})

describe('forms of a page', () => {
  let edge: TestEdge
  let counted = 0
  before(async () => {
    // The machine may be slow.
    edge = await startTestEdge({ conversionMs: 60_000 })
  })
  after(() => edge.close())
  beforeEach(async () => {
    counted++
    await edge.set(`settings = '{"cards":"on"}'`)
    await edge.settled()
  })
  const at = () => `/${counted}`
  const tool = (path: string, options: AskOptions = {}) =>
    edge.ask(path, { agent: AGENT, ...options, headers: { ...MD, ...options.headers } })
  const text = ({ headers, body }: Answer) => {
    const { 'content-encoding': encoding } = headers
    return String(
      encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body,
    )
  }

  it('a tool that is no crawler gets Markdown, rendered once and kept', async () => {
    edge.script(
      page('made of steel', {
        head: '<link rel="canonical" href="/rake"><meta name="robots" content="noindex">',
      }),
    )
    const first = await tool(at())
    assert.equal(first.verdict, 'rendered')
    assert.equal(first.status, 200)
    assert.equal(first.headers['content-type'], 'text/markdown; charset=utf-8')
    assert.equal(first.headers['x-content-type-options'], 'nosniff')
    assert.equal(first.headers['x-robots-tag'], 'noindex')
    assert.equal(first.headers['x-kept'], 'yes')
    assert.equal(first.headers.vary, VARY)
    assert.equal(first.headers.link, '<https://red.example/rake>; rel="canonical", </style.css>; rel=preload')
    const body = text(first)
    assert.match(
      body,
      /^---\ntitle: "A rake"\ncanonical: "https:\/\/red.example\/rake"\nlanguage: "en"\nmodified: "2[^"]+Z"\n---\n\n# Rake\n\nmade of steel\n$/,
    )
    assert.equal(first.headers['x-markdown-tokens'], `${Math.ceil(body.length / 4)}`)
    assert.equal(Number(first.headers['content-length']), first.body.length)
    const hit = await tool(at())
    assert.equal(hit.verdict, 'hit')
    assert.deepEqual(hit.body, first.body)
    assert.equal(edge.rendered.filter((one) => one.endsWith(at())).length, 1)
    // A crawler that asks for it, and HTML for the others.
    assert.equal(
      (await edge.ask(at(), { headers: MD })).headers['content-type'],
      'text/markdown; charset=utf-8',
    )
    const html = await edge.ask(at())
    assert.equal(html.verdict, 'hit')
    assert.match(text(html), /<nav>menu/)
    assert.equal(html.headers.vary, VARY)
    assert.match(
      String(html.headers.link),
      new RegExp(`<https://red.example${at()}>; rel="alternate"; type="text/markdown"`),
    )
  })

  it('is stored, and a second node reads what the first one made', async () => {
    edge.script(page('two nodes'))
    await tool(at())
    const stored = async () => (await edge.pool.query('select * from page_form where path = $1', [at()])).rows
    await until('it is stored', async () => (await stored()).length > 0)
    await edge.pool.query(`update page_form set etag = 'of-the-first' where path = $1`, [at()])
    const second = await edge.node()
    const answer = await second.ask(at(), { agent: AGENT, headers: MD })
    assert.equal(answer.headers.etag, '"of-the-first"')
    await second.close()
    // Gone with the page.
    await edge.purge({ kind: 'paths', paths: [at()] } as never)
    assert.equal((await stored()).length, 0)
  })

  it('is stored of each variant, also where both have the same HTML', async () => {
    await edge.set(`settings = '{"devices":"both"}'`)
    await edge.settled()
    edge.script(page('same'), page('same'))
    const phone = `${AGENT} Mobile`
    for (const agent of [AGENT, phone]) assert.equal((await tool(at(), { agent })).verdict, 'rendered')
    const variants = await until('both are stored', async () => {
      const { rows } = await edge.pool.query(
        'select variant from page_form where path = $1 order by variant',
        [at()],
      )
      return rows.length === 2 && rows.map(({ variant }) => variant)
    })
    assert.deepEqual(variants, ['desktop', 'mobile'])
  })

  it('has an ETag for each form and encoding, and a 304 only for its own', async () => {
    edge.script(page('tags'))
    const asked: [string, AskOptions][] = ['br', 'gzip', 'identity'].flatMap(
      (encoding): [string, AskOptions][] => [
        [`markdown ${encoding}`, { agent: AGENT, headers: { ...MD, 'accept-encoding': encoding } }],
        [`html ${encoding}`, { headers: { 'accept-encoding': encoding } }],
        [`card ${encoding}`, { agent: FACEBOOK, headers: { 'accept-encoding': encoding } }],
      ],
    )
    const tags = new Map<string, string>()
    for (const [name, options] of asked) {
      const answer = await edge.ask(at(), options)
      assert.equal(answer.headers['x-prepaint-form'], name.startsWith('card') ? 'card' : undefined)
      tags.set(name, String(answer.headers.etag))
    }
    assert.equal(new Set(tags.values()).size, 9)
    for (const [name, options] of asked) {
      for (const [other, tag] of tags) {
        const headers = { ...options.headers, 'if-none-match': tag }
        const { status, headers: answered, body } = await edge.ask(at(), { ...options, headers })
        assert.equal(status, name === other ? 304 : 200, `${name} with the tag of ${other}`)
        assert.equal(answered.vary, VARY)
        assert.equal(body.length === 0, name === other)
      }
      const since = { ...options.headers, 'if-modified-since': new Date(edge.nowMs() + 9e6).toUTCString() }
      assert.equal(
        (await edge.ask(at(), { ...options, headers: since })).status,
        name.startsWith('html') ? 304 : 200,
      )
      const range = { ...options.headers, range: 'bytes=0-3' }
      assert.equal((await edge.ask(at(), { ...options, headers: range })).status, 200)
      const head = await edge.ask(at(), { ...options, method: 'HEAD' })
      const whole = await edge.ask(at(), options)
      assert.equal(head.body.length, 0)
      const same = ({ age: _age, date: _date, 'x-request-id': _id, ...rest }: Answer['headers']) => rest
      assert.deepEqual(same(head.headers), same(whole.headers))
    }
  })

  it('cards are for social crawlers: tags, heading and first paragraph', async () => {
    edge.script(
      page('<b>steel</b> rake', {
        head: '<style>a{}</style><meta property="og:title" content="OG &amp; more">',
      }),
    )
    const card = await edge.ask(at(), { agent: FACEBOOK })
    assert.equal(card.verdict, 'rendered')
    assert.equal(card.headers['x-prepaint-form'], 'card')
    assert.equal(
      text(card),
      '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>A rake</title><meta property="og:title" content="OG &amp; more"></head><body><h1>Rake</h1><p>steel rake</p></body></html>\n',
    )
    assert.equal(String(card.headers.link), '</style.css>; rel=preload')
    await edge.set(
      `settings = '{"crawlers":{"add":[{"pattern":"linkbot","category":"social"}]},"cards":"on"}'`,
    )
    await edge.settled()
    assert.equal((await edge.ask(at(), { agent: 'Linkbot' })).headers['x-prepaint-form'], 'card')
    await edge.set(`settings = '{}'`)
    await edge.settled()
    assert.equal((await edge.ask(at(), { agent: FACEBOOK })).headers['x-prepaint-form'], undefined)
  })

  it('passes what passes for crawlers, and people', async () => {
    edge.script(page('passes'))
    await tool(at())
    const why = async (path: string, options: AskOptions) => (await tool(path, options)).verdict
    assert.equal(await why(at(), { headers: { cookie: 'a=b' } }), 'pass; cookie')
    assert.equal(await why(at(), { agent: GOOGLEBOT, headers: { cookie: 'a=b' } }), 'hit')
    assert.equal(await why(at(), { headers: { authorization: 'Basic x' } }), 'pass; authorization')
    assert.equal(await why(at(), { method: 'POST' }), 'pass; method')
    assert.equal(await why('/a.js', {}), 'pass; asset')
    assert.equal(await why('/sitemap.xml', {}), 'pass; asset')
    assert.equal(await why('/llms.txt', {}), 'pass; excluded')
    assert.equal(await why(at(), { headers: { via: '1.1 prepaint' } }), 'pass; loop')
    assert.equal(
      await why(at(), { agent: PERSON, headers: { accept: 'text/html, */*' } }),
      'pass; not-a-crawler',
    )
    await edge.set(`settings = '{"categories":{"other":"pass","search":"pass"}}'`)
    await edge.settled()
    assert.equal(await why(at(), {}), 'pass; category')
    assert.equal(await why(at(), { agent: GOOGLEBOT }), 'pass; category')
    await edge.set(`settings = '{"crawlers":{"remove":["googlebot"]}}'`)
    await edge.settled()
    assert.equal(await why(at(), { agent: GOOGLEBOT }), 'hit')
    assert.equal((await edge.ask(at())).verdict, 'pass; not-a-crawler')
    await edge.set(`settings = '{"markdown":"off"}'`)
    await edge.settled()
    assert.equal(await why(at(), {}), 'pass; not-a-crawler')
    const html = await edge.ask(at(), { headers: MD })
    assert.equal(html.headers.vary, 'Accept-Encoding, User-Agent')
    assert.equal(html.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(html.headers.link, '</style.css>; rel=preload')
  })

  for (const [where, outcome] of [
    ['a link element', page('own', { head: '<link rel="alternate" type="text/markdown" href="/own.md">' })],
    [
      'a header',
      page('own', { headers: [['Link', '<a>; rel=next, </own.md>; type="text/markdown"; rel="alternate"']] }),
    ],
  ] as const) {
    it(`a site with Markdown of its own, named by ${where}, gives its own`, async () => {
      edge.script(outcome)
      assert.equal((await tool(at())).verdict, 'pass; own-markdown')
      assert.equal((await tool(at())).verdict, 'pass; own-markdown')
      const html = await edge.ask(at())
      assert.equal(html.verdict, 'hit')
      assert.doesNotMatch(String(html.headers.link), /red\.example/)
    })
  }

  it('an error page has its status, and a redirect is one', async () => {
    edge.script(page('missing', { status: 404 }))
    const missing = await tool(at())
    assert.deepEqual([missing.status, missing.headers['content-type']], [404, 'text/markdown; charset=utf-8'])
    assert.equal(
      missing.headers.link,
      `<https://red.example${at()}>; rel="canonical", </style.css>; rel=preload`,
    )
    assert.doesNotMatch(String((await edge.ask(at())).headers.link), /alternate/)
    counted++
    edge.script({ kind: 'redirect', status: 301, location: '/new' })
    const moved = await tool(at())
    assert.deepEqual([moved.status, moved.headers.location, moved.headers.vary], [301, '/new', VARY])
  })

  it('a page that cannot be converted is served as HTML', async () => {
    edge.script(page(`${'<b>'.repeat(200_000)}deep`))
    for (const verdict of ['rendered', 'hit']) {
      const answer = await tool(at())
      assert.equal(answer.verdict, verdict)
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(answer.headers.vary, VARY)
    }
  })

  it('no form is ever served for another, in any order and by any way', async () => {
    const forms = {
      html: /^<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A rake<\/title><\/head><body><nav>/,
      markdown: /^---\n/,
      card: /^<!DOCTYPE html>\n<html lang="en"><head>.*<body><h1>/,
    }
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    const paths = ['a', 'b', 'c'].map((name) => `${at()}/${name}`)
    const seen = new Map<string, string>()
    for (let step = 0; step < 250; step++) {
      const path = paths[random(3)]!
      const [agent, accept] = [
        [GOOGLEBOT, AGENT, FACEBOOK][random(3)]!,
        ['text/markdown', 'text/markdown, */*', '*/*', 'text/html, text/markdown'][random(4)]!,
      ]
      const form = accept.startsWith('text/markdown') ? 'markdown' : agent === FACEBOOK ? 'card' : 'html'
      const headers: Record<string, string> = {
        accept,
        'accept-encoding': ['br', 'gzip', 'identity', 'br;q=0, *'][random(4)]!,
      }
      const tag = [...seen.keys()][random(seen.size || 1)]
      if (tag !== undefined && random(3) === 0) headers['if-none-match'] = tag
      if (random(20) === 0) await edge.purge({ kind: 'paths', paths: [path] } as never)
      edge.script(page(`step ${step}`))
      // Renders that nobody needed wait no longer.
      const answer = await edge.ask(path, { agent, headers })
      if (agent === AGENT && form === 'html') {
        assert.match(String(answer.verdict), /^pass; not-a-crawler/)
        continue
      }
      assert.match(String(answer.verdict), /^(?:hit|rendered)$/)
      const key = String(answer.headers.etag)
      const name = `${path} ${form} ${answer.headers['content-encoding'] ?? ''}`
      if (answer.status === 304) {
        assert.equal(headers['if-none-match'], key)
        assert.equal(seen.get(key), form)
        continue
      }
      assert.match(text(answer), forms[form], name)
      assert.equal(seen.get(key) ?? form, form)
      seen.set(key, form)
    }
  })
})
