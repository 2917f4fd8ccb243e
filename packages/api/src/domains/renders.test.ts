import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertAnswer, openApi, valuesOf } from '../../../../test/support/api.ts'
import { renderRecord } from '../../../../test/support/render-record.ts'

const api = await openApi()
const owner = await api.account()
const { id, name } = await api.domain(owner, 'shop.example.com')
const PATH = `/api/domains/${name}/renders`
const listed = async (query = '') => {
  const { status, body, text } = await api.get(`${PATH}${query}`, owner.key)
  assert.equal(status, 200, text)
  return body
}
const paths = async (query: string) => valuesOf((await listed(query))['renders'], 'path')

/** `hours`: how long ago it ended. */
async function ended(path: string, outcome: string, priority: number, hours: number): Promise<void> {
  const endedAt = new Date(api.clock.nowMs() - hours * 3_600_000)
  const [job] = await api.database.column<string>(
    `insert into job_ended (id, domain_id, path, variant, is_both, priority, state, outcome, created_at, finished_at)
     values (gen_random_uuid(), $1, $2, 'desktop', false, $3, 'done', $4, $5, $5) returning id`,
    id,
    path,
    priority,
    outcome,
    endedAt,
  )
  await api.pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
     values ($1, $2, $3, $4, 1, 2, $5, $6)`,
    [id, path, job, outcome, renderRecord(), endedAt],
  )
}
await ended('/a', 'rendered', 0, 50)
await ended('/b', 'blank', 1, 10)
await ended('/shop/c', 'origin-error', 2, 5)
await ended('/prepaint-probe-1', 'probed', 2, 4)
await ended('/prepaint-try-1-0', 'timed-out', 2, 3)
await ended('/shop/d', 'rendered', 2, 1)

// Proves decided "Render list"
it('200: renders by outcome, path, priority and time, newest first, in parts', async () => {
  assert.deepEqual(await paths(''), ['/shop/d', '/shop/c', '/b', '/a'])
  assert.deepEqual(await paths('?outcome=blank,origin-error'), ['/shop/c', '/b'])
  assert.deepEqual(await paths('?path=shop'), ['/shop/d', '/shop/c'])
  assert.deepEqual(await paths('?priority=live'), ['/a'])
  const since = new Date(api.clock.nowMs() - 6 * 3_600_000).toISOString()
  assert.deepEqual(await paths(`?since=${since}`), ['/shop/d', '/shop/c'])
  assert.deepEqual(await paths(`?since=${since}&priority=warm&outcome=rendered`), ['/shop/d'])
  const first = await listed('?limit=3')
  assert.deepEqual(valuesOf(first['renders'], 'priority'), ['warm', 'warm', 'refresh'])
  assert.deepEqual(await paths(`?limit=3&after=${first['next']}`), ['/a'])
  assert.equal((await listed())['next'], null)
})

it('400: an unknown value of a filter is named', async () => {
  for (const [field, value] of Object.entries({
    outcome: 'good',
    priority: 'high',
    since: 'today',
    limit: '0',
    after: 'x',
  })) {
    assertAnswer(await api.get(`${PATH}?${field}=${value}`, owner.key), 400, new RegExp(`^${field}\\b`))
  }
})
