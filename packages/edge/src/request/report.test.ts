/** What is told of each request: to metrics and traffic, to the access log, to who reads "last crawler", by its id. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { pino } from 'pino'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { until } from '../../../../test/support/condition.ts'
import { type AskOptions, GOOGLEBOT, GPTBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { type Answered, createAccessLog } from './report.ts'

const GIVEN = { 'x-request-id': 'given-by-somebody' }

let atOrigin: string | string[] | undefined
const told: string[] = []
const visits: string[] = []
const known: string[] = []
const edge = await openEdge({
  origin: (req, res) => {
    atOrigin = req.headers['x-request-id']
    res.setHeader('X-Request-Id', 'of the origin')
    if (req.url === '/sitemap.xml') res.setHeader('Content-Type', 'application/xml').end('<urlset></urlset>')
    else res.end('<div id="app"></div>')
  },
  parts: {
    answered: (_req, { verdict, crawler, domain, page, status }) =>
      told.push(`${verdict} ${crawler} ${domain?.name} ${page?.path} ${status}`),
    noteAsked: ({ path }) => void known.push(path),
    noteVisit: ({ page, crawler, category }) => void visits.push(`${page.path} ${crawler} ${category}`),
  },
})
beforeEach(async () => {
  await edge.reset()
  await edge.settings({ crawlers: { add: [{ pattern: 'ShopWatch', category: 'seo' }] } })
  told.length = 0
  visits.length = 0
  known.length = 0
})

it('each request is reported once: its verdict, crawler, domain, page and status', async () => {
  const owns = { agent: 'ShopWatch' }
  const again = { ...owns, headers: { 'if-none-match': '*' } }
  const bot = { agent: GPTBOT, method: 'POST' }
  const asked: [url: string, asking: AskOptions, told: string][] = [
    ['/a?utm_source=x&b=1', owns, 'rendered seo red.example /a?b=1 200'],
    ['/a?b=1', again, 'hit seo red.example /a?b=1 304'],
    ['/a', {}, 'rendered search red.example /a 200'],
    ['/a', { agent: PERSON }, 'pass; not-a-crawler null red.example undefined 200'],
    ['/a', bot, 'pass; method ai-training red.example undefined 200'],
    ['/', { host: 'nobody.example' }, 'none; unknown-host null undefined undefined 404'],
  ]
  for (const [url, asking] of asked) await edge.ask(url, asking)
  await until('all are told', () => told.length === asked.length)
  const wanted = asked.map(([, , wanted]) => wanted)
  assert.deepEqual(told, wanted)
})

// Proves decided "Last crawler of a page"
it('the last crawler of a page is told, once a minute for each; never people, nor tools that get Markdown', async () => {
  const agents = [GOOGLEBOT, GOOGLEBOT, PERSON, GPTBOT, GPTBOT, 'ShopWatch/1.0 (internal)']
  for (const agent of agents) await edge.ask('/a', { agent })
  await edge.ask('/a', { agent: 'some-agent/1.0', headers: { accept: 'text/markdown' } })
  assert.deepEqual(visits, ['/a Googlebot search', '/a GPTBot ai-training', '/a ShopWatch seo'])
})

it('what crawlers ask for is known, also where it brings no page, but no 404', async () => {
  edge.script({ kind: 'rendered', status: 404, headers: [], html: 'gone' }, { kind: 'blank' })
  for (const path of ['/gone', '/blank', '/a', '/a']) await edge.ask(path)
  await edge.ask('/b', { agent: PERSON })
  assert.deepEqual(known, ['/blank', '/a'])
})

describe('X-Request-Id', () => {
  it('is once in every kind of answer, and differs each time', async () => {
    edge.script(
      { kind: 'rendered', status: 200, headers: [], html: '<h1>a</h1>' },
      { kind: 'redirect', status: 301, location: 'https://red.example/new' },
    )
    const asked: [string, AskOptions?][] = [['/a'], ['/a'], ['/a', { headers: { 'if-none-match': '*' } }]]
    asked.push(['/old'], ['/a', { agent: PERSON }], ['/sitemap.xml'], ['/', { host: 'nobody.example' }])
    const ids: string[] = []
    for (const [url, asking] of asked) {
      const { rawHeaders } = await edge.ask(url, { ...asking, headers: { ...asking?.headers, ...GIVEN } })
      const own = rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === 'x-request-id')
      assert.equal(own.length, 1, url)
      ids.push(...own)
    }
    for (const id of ids) assert.match(id, /^[\w-]{20}$/)
    // No common part that names the node's run, and so no counter.
    assert.equal(new Set(ids.map((id) => id.slice(0, 12))).size, asked.length)
  })

  it('is what the origin is told, and stands at the job that a miss became', async () => {
    const { headers } = await edge.ask('/x', { agent: PERSON, headers: GIVEN })
    assert.equal(atOrigin, headers['x-request-id'])
    assert.notEqual(atOrigin, GIVEN['x-request-id'])
    const rendered = await edge.ask('/x', { headers: GIVEN })
    const { rows } = await edge.pool.query('select request_id from every_job')
    assert.deepEqual(rows, [{ request_id: rendered.headers['x-request-id'] }])
  })

  it('is that of the trusted proxy if it sent one, as is the address of the client', async (t) => {
    const addresses: string[] = []
    const verifyCrawler = (_agent: string, address: string) => {
      addresses.push(address)
      return 'verified' as const
    }
    const { clients } = loadConfig({ PREPAINT_TRUSTED_PROXIES: '127.0.0.1' })
    const trusting = await openEdge({ clients, parts: { verifyCrawler } }, t)
    const asking = { headers: { ...GIVEN, 'x-forwarded-for': '198.51.100.1, 66.249.66.1' } }
    const { headers } = await trusting.ask('/a', asking)
    assert.equal(headers['x-request-id'], GIVEN['x-request-id'])
    assert.deepEqual(addresses, ['66.249.66.1'])
  })
})

describe('the access log', () => {
  const linesOf = (logged: 'renders' | 'all' | 'none', verdicts: readonly string[]) => {
    const lines: Record<string, unknown>[] = []
    const into = { write: (line: string) => lines.push(JSON.parse(line)) }
    const tell = createAccessLog(pino({ base: null, timestamp: false }, into), logged)
    const headers = { host: 'red.example', 'x-request-id': 'request-1' }
    for (const verdict of verdicts) {
      const answered = { verdict, crawler: 'search', seconds: 0.0123456, status: 200 }
      tell({ method: 'GET', url: '/a?token=secret', headers } as never, answered as Answered)
    }
    return lines
  }
  const RENDERS = ['rendered', 'stale', 'pass; late', 'none; fault']
  const VERDICTS = ['hit', 'pass; not-a-crawler', 'pass; asset', ...RENDERS]

  it('has the requests that needed a render by default, and all or none if so configured', () => {
    const logged = linesOf('renders', VERDICTS).map(({ verdict }) => verdict)
    assert.deepEqual(logged, RENDERS)
    assert.equal(linesOf('all', VERDICTS).length, VERDICTS.length)
    assert.equal(linesOf('none', VERDICTS).length, 0)
  })

  it('says what was requested and how it ended, without the query', () => {
    const request = { requestId: 'request-1', method: 'GET', host: 'red.example', path: '/a' }
    const answered = { verdict: 'hit', crawler: 'search', ms: 12.35, msg: 'request' }
    assert.deepEqual(linesOf('all', ['hit']), [{ level: 30, ...request, ...answered }])
  })
})
