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
