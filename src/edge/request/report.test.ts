import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { PERSON, startTestEdge } from '../../../test/support/edge.ts'
import { type Answered, Report } from './report.ts'
import { handledAs } from './verdict.ts'

describe('the report of live requests', () => {
  it('has each request once, in the words that its answer has', async () => {
    const told: Answered[] = []
    const edge = await startTestEdge({ parts: { answered: (_req, answer) => told.push(answer) } })
    try {
      const asked = [
        await edge.ask('/a'),
        await edge.ask('/a'),
        await edge.ask('/a', { agent: PERSON }),
        await edge.ask('/a', { agent: 'GPTBot/1.0', method: 'POST' }),
        await edge.ask('/', { host: 'nobody.example' }),
      ]
      while (told.length < asked.length) await new Promise(setImmediate)
      assert.deepEqual(
        told.map(({ verdict }) => verdict),
        asked.map(({ verdict }) => verdict),
      )
      assert.deepEqual(
        told.map(({ crawler }) => crawler),
        ['search', 'search', null, 'ai-training', null],
      )
      assert(told.every(({ seconds }) => seconds >= 0 && seconds < 60))
    } finally {
      await edge.close()
    }
  })

  it('says whose request it was, for which page, and how it was answered; who is a crawler, by the list of the domain too', async () => {
    const told: unknown[] = []
    const edge = await startTestEdge({
      parts: {
        answered: (_req, { domain, page, crawler, status }) =>
          told.push([domain?.name, page?.path, crawler, status]),
      },
    })
    try {
      const crawlers = { add: [{ pattern: 'ShopWatch', category: 'seo' }] }
      await edge.set(`settings = '${JSON.stringify({ crawlers })}'`)
      await edge.settled()
      await edge.ask('/a?utm_source=x&b=1', { agent: 'ShopWatch' })
      await edge.ask('/a?b=1', { agent: 'ShopWatch', headers: { 'if-none-match': '*' } })
      await edge.ask('/a', { agent: PERSON })
      await edge.ask('/', { host: 'nobody.example' })
      while (told.length < 4) await new Promise(setImmediate)
      assert.deepEqual(told, [
        ['red.example', '/a?b=1', 'seo', 200],
        ['red.example', '/a?b=1', 'seo', 304],
        ['red.example', undefined, null, 200],
        [undefined, undefined, null, 404],
      ])
    } finally {
      await edge.close()
    }
  })

  it('of a page from memory, has our own time; of all else, the time until it had gone out', () => {
    let now = 0
    const told: Answered[] = []
    const report = new Report({
      stopwatch: () => now,
      idOf: () => 'a-request',
      answered: (_req, answer) => told.push(answer),
    })
    const begin = () => {
      const res = Object.assign(new EventEmitter(), { closed: false, headersSent: true, statusCode: 200 })
      const req = { headers: {} } as never
      const started = report.begin(req)
      const end = (verdict: Answered['verdict']) =>
        report.endWhenSent(req, res as never, started, { ...handledAs('none; fault'), verdict })
      return { res, end }
    }
    const hit = begin()
    now += 1
    hit.end('hit')
    const passed = begin()
    now += 1
    passed.end('pass; late')
    assert.equal(told.length, 1)
    now += 5
    passed.res.emit('close')
    assert.deepEqual(
      told.map(({ seconds }) => seconds),
      [1, 6],
    )
  })
})
