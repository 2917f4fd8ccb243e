import assert from 'node:assert/strict'
import { it } from 'node:test'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import { openApi } from '../../../../../test/support/api.ts'
import { keepMonths, removeOldMonths } from './kept-months.ts'
import { readMonth } from './monthly-report.ts'

const api = await openApi()
const { pool } = api

it('a month is kept a week after its end, and is told from then on without its days', async () => {
  const account = await api.account()
  const { id } = await api.domain(account, 'kept.example.com')
  await api.domain(account, 'quiet.example.com')
  await pool.query(`update account set created_at = '2026-09-10T00:00:00Z' where id = $1`, [account.id])
  const insert = 'insert into traffic_day values ($1, $2, $3, $4, $5, 8, 0, 0, 0, 0, $6)'
  await pool.query(insert, [id, '2026-10-31', 'search', 'Googlebot', 'hit', '{8}'])
  await pool.query(`insert into traffic_path values ($1, '2026-10-31', false, '/kept', 8, 'hit', 200)`, [id])
  const monthsKept = async () =>
    api.database.column<string>(
      `select to_char(month, 'YYYY-MM') from account_month where account_id = $1 order by 1`,
      account.id,
    )
  await keepMonths(pool, Date.parse('2026-11-07T23:59:59Z'))
  assert.deepEqual(await monthsKept(), ['2026-09'])
  const nowMs = Date.parse('2026-11-08T00:00:00Z')
  await keepMonths(pool, nowMs)
  assert.deepEqual(await monthsKept(), ['2026-09', '2026-10'])
  assert.equal(await keepMonths(pool, nowMs), 0)
  // A site without anything takes no row.
  assert.deepEqual(await api.database.column('select domain_id from domain_month where domain_id > 0'), [id])

  const before = await readMonth(pool, wholeAccount(account.id), '2026-10', nowMs)
  await pool.query('delete from traffic_day where domain_id = $1', [id])
  await pool.query('delete from traffic_path where domain_id = $1', [id])
  const later = await readMonth(pool, wholeAccount(account.id), '2026-10', Date.parse('2028-11-30T00:00:00Z'))
  assert.deepEqual(later, before)
  assert.deepEqual([later[0]!.visits, later[0]!.top_pages[0]!.path, later[1]!.visits], [8, '/kept', 0])
})

it('months are removed after 25 months', async () => {
  const account = await api.account()
  const { id } = await api.domain(account, 'old.example.com')
  for (const back of [25, 26]) {
    const month = `(date_trunc('month', now() at time zone 'UTC') - make_interval(months => ${back}))::date`
    await pool.query(`insert into domain_month values ($1, ${month}, '{}')`, [id])
    await pool.query(`insert into account_month values ($1, ${month})`, [account.id])
  }
  assert.equal(await removeOldMonths(pool), 2)
  assert.equal(await removeOldMonths(pool), 0)
  const left = await api.database.column('select month from domain_month where domain_id = $1', id)
  assert.equal(left.length, 1)
})

it('a month is not compared with one of which days have expired', async () => {
  const account = await api.account()
  const { id } = await api.domain(account, 'upgraded.example.com')
  for (const day of ['2025-10-31', '2025-11-15']) {
    await pool.query(
      `insert into traffic_day values ($1, $2, 'search', 'Googlebot', 'hit', 8, 0, 0, 0, 0, '{8}')`,
      [id, day],
    )
  }
  const readAt = async (time: string) => {
    const [month] = await readMonth(pool, wholeAccount(account.id), '2025-11', Date.parse(time))
    return [month!.visits, month!.before]
  }
  // 400 days before: 1 October 2025, and the day after it.
  assert.deepEqual(await readAt('2026-11-05T23:59:59Z'), [8, 8])
  assert.deepEqual(await readAt('2026-11-06T00:00:00Z'), [8, 0])
})

it('a month that cannot be kept does not keep those of other accounts from it', async () => {
  const broken = await api.account()
  const other = await api.account()
  await pool.query(`update account set created_at = '2026-10-10T00:00:00Z' where id = any ($1)`, [
    [broken.id, other.id],
  ])
  await pool.query(`alter table account_month add constraint broken check (account_id <> ${broken.id})`)
  const nowMs = Date.parse('2026-11-08T00:00:00Z')
  await assert.rejects(keepMonths(pool, nowMs), { constraint: 'broken' })
  const kept = `select account_id from account_month where account_id = any ($1) and month = '2026-10-01'`
  const ids = [broken.id, other.id]
  assert.deepEqual(await api.database.column(kept, ids), [other.id])
  await pool.query('alter table account_month drop constraint broken')
  await keepMonths(pool, nowMs)
  assert.equal((await api.database.column(kept, ids)).length, 2)
})
