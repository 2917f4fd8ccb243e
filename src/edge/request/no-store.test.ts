import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import type { RenderOutcome } from '../../render/outcome.ts'

const page = (cacheControl: string, html = '<h1>page</h1>'): RenderOutcome => ({
  kind: 'rendered',
  status: 200,
  headers: [['cache-control', cacheControl]],
  html,
})

describe("what the origin's Cache-Control says about storing", () => {
  let edge: TestEdge
  before(async () => {
    edge = await startTestEdge()
  })
  after(() => edge.close())
  beforeEach(async () => {
    await edge.purge({ kind: 'all' })
    await edge.pool.query('delete from render_count')
    await set('ignore')
  })

  async function set(treatment: 'ignore' | 'respect'): Promise<void> {
    await edge.set(`settings = '{"origin_cache_control": "${treatment}"}'`)
    await edge.settled()
  }

  const used = async () =>
    (await edge.pool.query<{ sum: string }>('select coalesce(sum(renders), 0) as sum from render_count'))
      .rows[0]?.sum

  // Proves decided "The origin's `Cache-Control`"
  it('is ignored unless the owner says otherwise: shells of single-page apps say no-store as a rule', async () => {
    edge.script(page('no-store'))
    assert.deepEqual([await edge.verdict('/a'), await edge.verdict('/a')], ['rendered', 'hit'])
    edge.script(page('private'))
    assert.deepEqual([await edge.verdict('/b'), await edge.verdict('/b')], ['rendered', 'hit'])
  })

  it('is never what we say ourselves', async () => {
    edge.script(page('public, max-age=600'))
    for (const _ of ['rendered', 'hit']) {
      const { headers } = await edge.ask('/a')
      assert.equal(headers['cache-control'], 'private, no-cache')
    }
  })

  // Proves decided "The origin's `Cache-Control`"
  it('where it is respected, a page is rendered for each who asks, and not stored', async () => {
    await set('respect')
    for (const forbids of ['no-store', 'private, max-age=600']) {
      edge.script(page(forbids, `<h1>${forbids}</h1>`), page(forbids, '<h1>again</h1>'))
      const first = await edge.ask('/a')
      assert.deepEqual(
        [first.status, first.verdict, first.body.toString()],
        [200, 'rendered', `<h1>${forbids}</h1>`],
      )
      assert.equal(first.headers['cache-status'], 'Prepaint; fwd=miss')
      const second = await edge.ask('/a')
      assert.deepEqual([second.verdict, second.body.toString()], ['rendered', '<h1>again</h1>'])
    }
    assert.equal((await edge.pool.query('select from page')).rowCount, 0)
    assert.equal(await used(), '4', 'each counts as a render')
  })

  it('where it is respected, what does not forbid is stored', async () => {
    await set('respect')
    for (const [path, allows] of [
      ['/a', 'no-cache'],
      ['/b', 'max-age=0, must-revalidate'],
      ['/c', 'private="set-cookie"'],
    ] as const) {
      edge.script(page(allows))
      assert.deepEqual([await edge.verdict(path), await edge.verdict(path)], ['rendered', 'hit'])
    }
  })

  it('where it is respected, a copy of before is forgotten', async () => {
    await set('respect')
    edge.script(page('no-cache'))
    assert.deepEqual([await edge.verdict('/a'), await edge.verdict('/a')], ['rendered', 'hit'])
    edge.wait(25 * 3_600_000)
    assert.equal(await edge.verdict('/a'), 'stale')
    edge.script(page('no-store'))
    const queued = () => edge.pool.query(`select from job where state = 'queued'`)
    while ((await queued()).rowCount === 0);
    await edge.work()
    await edge.settled()
    edge.script(page('no-store', '<h1>new</h1>'))
    const answer = await edge.ask('/a')
    assert.deepEqual([answer.verdict, answer.body.toString()], ['rendered', '<h1>new</h1>'])
  })

  // Proves decided "The origin's `Cache-Control`"
  it('where it is respected, a redirect is not stored either: each crawler gets it from the origin', async () => {
    await set('respect')
    edge.script(page('no-cache'))
    assert.equal(await edge.verdict('/a'), 'rendered')
    const redirect = { kind: 'redirect', status: 302, location: 'https://red.example/b' } as const
    edge.wait(40 * 86_400_000)
    for (const cacheControl of ['no-store', 'max-age=9, private']) {
      edge.script({ ...redirect, cacheControl })
      assert.equal(await edge.verdict('/a'), 'pass; no-store')
    }
    assert.equal(
      (await edge.pool.query('select from page')).rowCount,
      0,
      'what was stored before is forgotten',
    )
    assert.equal((await edge.pool.query('select from redirect')).rowCount, 0)
    assert.equal(await used(), '1', 'a redirect is no render')
    edge.script({ ...redirect, cacheControl: 'no-cache' })
    assert.deepEqual([await edge.verdict('/a'), await edge.verdict('/a')], ['rendered', 'hit'])
    await set('ignore')
    edge.script({ ...redirect, cacheControl: 'no-store' })
    assert.deepEqual([await edge.verdict('/c'), await edge.verdict('/c')], ['rendered', 'hit'])
  })

  it('where it is respected, and the month is used up, it is the origin that answers', async () => {
    await set('respect')
    await edge.pool.query(`insert into render_count (domain_id, month, renders) values ($1, $2, 1200)`, [
      edge.red,
      new Date(edge.nowMs()).toISOString().replace(/..T.*/, '01'),
    ])
    edge.script(page('no-store'))
    assert.equal(await edge.verdict('/a'), 'pass; over-quota')
  })
})
