import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { assertAnswer, openApi, storePages, type TestAnswer } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { HEAVY_AT_ONCE, HEAVY_WAITING_MOST, HeavyWork } from './heavy-work.ts'

const BUSY = 'Too many requests of this account at once, try again in a moment'
/** What one account may run at once while no other does. */
const READS = HEAVY_AT_ONCE.read / 2
const CHANGES = Math.ceil(HEAVY_AT_ONCE.change / 2)

const api = await openApi()
const greedy = await api.account()
const other = await api.account()
const third = await api.account()
for (const [account, name] of [
  [greedy, 'greedy.example.com'],
  [other, 'other.example.com'],
] as const) {
  const { id } = await api.domain(account, name)
  await storePages(api, id, ['/', '/a'])
}

/** Statements that wait for a lock. */
async function held(): Promise<number> {
  const [waiting] = await api.database.column<number>(
    `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return waiting!
}

/** Statements on the table last until `work` has ended. Returns the answers to all that `work` has asked. */
async function whileLocked(
  table: string,
  work: (asked: Promise<TestAnswer>[]) => Promise<void>,
): Promise<TestAnswer[]> {
  const asked: Promise<TestAnswer>[] = []
  const holder = await api.pool.connect()
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`)
    await work(asked)
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  return Promise.all(asked)
}

const times = (count: number, ask: () => Promise<TestAnswer>) => Array.from({ length: count }, ask)

describe('requests that take much of PostgreSQL', () => {
  // Proves decided "Heavy requests"
  it('200: counts of pages: two of an account run and 50 wait; 429 for one more, while another account counts its own', async () => {
    const count = () => api.get('/api/domains/greedy.example.com/pages', greedy.key)
    const answers = await whileLocked('last_render', async (asked) => {
      asked.push(...times(READS + HEAVY_WAITING_MOST + 1, count))
      const refused = await Promise.race(asked)
      assertAnswer(refused, 429, BUSY)
      assert.equal(refused.headers.get('retry-after'), '1')
      await until('as many run as may', async () => (await held()) === READS)
      asked.push(api.get('/api/domains/other.example.com/pages', other.key))
      await until('the other account counts', async () => (await held()) === READS + 1)
      assert.equal((await api.get('/api/cache/stats', third.key)).status, 200)
    })
    assert.deepEqual(
      answers.flatMap(({ status }) => (status === 200 ? [] : status)),
      [429],
    )
    assert.equal((await count()).status, 200)
  })

  // Proves decided "Heavy requests"
  it('200: purges of whole domains run two at a time, hold up no list of the account, no purge of a page and no other account', async () => {
    const purgeAll = () => api.post('/api/cache/purge-all', greedy.key)
    const answers = await whileLocked('redirect', async (asked) => {
      asked.push(...times(CHANGES + 5, purgeAll))
      await until('as many run as may', async () => (await held()) === CHANGES)
      for (const path of ['/api/traffic', '/api/portfolio', '/api/cache/list/greedy.example.com']) {
        assert.equal((await api.get(path, greedy.key)).status, 200)
      }
      asked.push(api.post('/api/cache/purge', greedy.key, { domain: 'greedy.example.com', path: '/a' }))
      await until('the purge of a page runs', async () => (await held()) === CHANGES + 1)
      asked.push(api.post('/api/cache/purge', other.key, { domain: 'other.example.com' }))
      await until('the other account purges', async () => (await held()) === CHANGES + 2)
    })
    for (const { status } of answers) assert.equal(status, 200)
  })
})

describe('a place for heavy work', () => {
  const account = 1 as AccountId

  it('is given back by work that fails, and not used for a client that has left', async () => {
    const work = new HeavyWork()
    const fails = () => work.run('read', account, () => Promise.reject(new Error('failed')))
    for (let at = 0; at <= READS; at++) await assert.rejects(fails(), /failed/)
    const left = work.run('read', account, async () => assert.fail('it began'), { destroyed: true })
    await assert.rejects(left, { code: 'account_busy' })
  })

  it('is taken for each part of a list, and given back while its reader does not ask for more', async () => {
    const work = new HeavyWork()
    let isClosed = false
    async function* parts() {
      try {
        yield* [1, 2, 3]
      } finally {
        isClosed = true
      }
    }
    const lists = Array.from({ length: READS + 1 }, () => work.each(account, parts()))
    for (const list of lists) assert.equal((await list.next()).value, 1)
    const held = Array.from({ length: READS }, () => Promise.withResolvers<void>())
    const running = held.map(({ promise }) => work.run('read', account, () => promise))
    const second = lists[0]!.next()
    assert.equal(
      await Promise.race([second, new Promise((resolve) => setImmediate(resolve, 'waits'))]),
      'waits',
    )
    for (const { resolve } of held) resolve()
    await Promise.all(running)
    assert.equal((await second).value, 2)
    await lists[0]!.return()
    assert.equal(isClosed, true)
  })
})
