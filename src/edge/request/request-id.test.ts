import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { pino } from 'pino'
import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { NO_CLIENT_LIMITS } from '../../http/client-limits.ts'
import type { PagePath } from '../../ids.ts'
import { requestOf } from '../../queue/jobs/after-render.ts'
import { enqueueLive } from '../../queue/jobs/enqueue.ts'
import { pageId } from '../../store/page-id.ts'
import { createAccessLog } from './report.ts'
import { handledAs } from './verdict.ts'

const GIVEN = 'given-by-somebody'

let edge: TestEdge
let atOrigin: string | string[] | undefined
before(async () => {
  edge = await startTestEdge({
    origin: (req, res) => {
      atOrigin = req.headers['x-request-id']
      res.setHeader('X-Request-Id', 'of the origin')
      if (req.url === '/sitemap.xml')
        res.setHeader('Content-Type', 'application/xml').end('<urlset></urlset>')
      else res.end('<div id="app"></div>')
    },
  })
})
after(() => edge.close())

describe('X-Request-Id', () => {
  it('stands once in every kind of answer, and is another each time', async () => {
    const headers = { 'x-request-id': GIVEN }
    edge.script(
      { kind: 'rendered', status: 200, headers: [], html: '<h1>a</h1>' },
      { kind: 'redirect', status: 301, location: 'https://red.example/new' },
    )
    const first = await edge.ask('/a', { headers })
    const etag = first.headers.etag!
    const answers = [
      first,
      await edge.ask('/a', { headers }),
      await edge.ask('/a', { headers: { ...headers, 'if-none-match': etag, 'accept-encoding': 'br' } }),
      await edge.ask('/old', { headers }),
      await edge.ask('/old', { headers }),
      await edge.ask('/a', { headers, agent: PERSON }),
      await edge.ask('/sitemap.xml', { headers }),
      await edge.ask('/', { headers, host: 'nobody.example' }),
    ]
    const verdicts = answers.map(({ verdict }) => verdict)
    assert.deepEqual(verdicts.slice(0, 5), ['rendered', 'hit', 'hit', 'rendered', 'hit'])
    const ids = answers.map(({ rawHeaders }) => {
      const at = rawHeaders.flatMap((name, at) => (name.toLowerCase() === 'x-request-id' ? [at] : []))
      assert.equal(at.length, 1, `${verdicts}`)
      return rawHeaders[at[0]! + 1]!
    })
    assert.equal(new Set(ids).size, answers.length)
    for (const id of ids) assert.match(id, /^[\w-]{20}$/)
    // No common part that names the node's run, and so no counter.
    assert.equal(new Set(ids.map((id) => id.slice(0, 12))).size, answers.length)
  })

  it('is what the origin is told', async () => {
    const { headers } = await edge.ask('/x', { agent: PERSON, headers: { 'x-request-id': GIVEN } })
    assert.equal(atOrigin, headers['x-request-id'])
    assert.notEqual(atOrigin, GIVEN)
  })

  it('stands at the job that a miss became; who joins it later does not change it', async () => {
    edge.script('hang')
    const slow = edge.ask('/slow')
    let job: { id: never; domain_id: never; request_id: string | null } | undefined
    while (!job?.request_id) {
      job = (await edge.pool.query(`select id, domain_id, request_id from job where path = '/slow'`)).rows[0]
    }
    assert.equal(await requestOf(edge.pool, job.id), job.request_id)
    const slowly = '/slow' as PagePath
    assert.equal(await enqueueLive(edge.pool, pageId(job.domain_id, slowly), 'another', 10_000), job.id)
    assert.equal(await requestOf(edge.pool, job.id), job.request_id)
    await edge.work()
    assert.equal((await slow).headers['x-request-id'], job.request_id)
  })
})

it('a trusted proxy names its requests itself', async () => {
  const clients = { ...NO_CLIENT_LIMITS, trustedProxies: [ipaddr.parseCIDR('127.0.0.1/32')] }
  const trusting = await startTestEdge({ clients })
  try {
    const { headers } = await trusting.ask('/a', { headers: { 'x-request-id': GIVEN } })
    assert.equal(headers['x-request-id'], GIVEN)
    const { rows } = await trusting.pool.query('select request_id from job')
    assert.deepEqual(rows, [{ request_id: GIVEN }])
  } finally {
    await trusting.close()
  }
})

describe('the access log', () => {
  const linesOf = (logged: 'renders' | 'all' | 'none', verdicts: string[]) => {
    const lines: Record<string, unknown>[] = []
    const into = new Writable({
      write(line: Buffer, _encoding, done) {
        lines.push(JSON.parse(line.toString()) as Record<string, unknown>)
        done()
      },
    })
    const tell = createAccessLog(pino({ level: 'info', base: null, timestamp: false }, into), logged)
    const headers = { host: 'red.example', 'x-request-id': 'request-1' }
    for (const verdict of verdicts) {
      const req = { method: 'GET', url: '/a?token=secret', headers }
      tell(req as never, {
        ...handledAs('none; fault'),
        verdict: verdict as never,
        crawler: 'search',
        seconds: 0.0123456,
        status: 200,
      })
    }
    return lines
  }
  const VERDICTS = [
    'hit',
    'rendered',
    'stale',
    'pass; late',
    'pass; not-a-crawler',
    'pass; asset',
    'none; fault',
  ]

  it('has, unless told otherwise, the requests that a render was for', () => {
    const logged = linesOf('renders', VERDICTS).map(({ verdict }) => verdict)
    assert.deepEqual(logged, ['rendered', 'stale', 'pass; late', 'none; fault'])
  })

  it('has all of them, or none', () => {
    assert.equal(linesOf('all', VERDICTS).length, VERDICTS.length)
    assert.equal(linesOf('none', VERDICTS).length, 0)
  })

  it('says what was asked and how it ended, without the query', () => {
    assert.deepEqual(linesOf('all', ['hit']), [
      {
        level: 30,
        requestId: 'request-1',
        method: 'GET',
        host: 'red.example',
        path: '/a',
        verdict: 'hit',
        crawler: 'search',
        ms: 12.35,
        msg: 'request',
      },
    ])
  })
})
