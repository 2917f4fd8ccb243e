import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { removeOldSignIns } from './retention.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
})
after(() => database.close())

// Proves decided "Retention"
it('sessions, links and failures go half an hour after they have ended', async () => {
  const { pool } = database
  // In minutes: the first two are still good, or may be to another node.
  const ages = [-60, 29, 31, 60]
  for (const age of ages) {
    const at = `now() - make_interval(mins => ${age})`
    await pool.query(
      `insert into sign_in_session (account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
       select id, $1, '', $2, now(), now(), ${at} from account`,
      [Buffer.from(`${age}`), `${age}`],
    )
    await pool.query(
      `insert into sign_in_link (token_hash, kind, email, expires_at) values ($1, 'invitation', $2, ${at})`,
      [Buffer.from(`${age}`), `${age}`],
    )
    await pool.query(`insert into sign_in_failure values ($1, ${at}, 1)`, [`${age}`])
  }
  assert.equal(await removeOldSignIns(pool, { step: 1 }), 6)
  for (const [table, column] of Object.entries({
    sign_in_session: 'user_agent',
    sign_in_link: 'email',
    sign_in_failure: 'subject',
  })) {
    const { rows } = await pool.query<{ age: string }>(
      `select ${column} as age from ${table} order by ${column}::int`,
    )
    assert.deepEqual(
      rows.map(({ age }) => age),
      ['-60', '29'],
      table,
    )
  }
})
