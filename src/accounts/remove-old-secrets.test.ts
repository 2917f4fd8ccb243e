import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { removeOldSecrets } from './retention.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'enterprise')`)
  await database.pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select id, 'old.example', 'http://origin.example' from account`,
  )
})
after(() => database.close())

const names = async (table: string) => {
  const { rows } = await database.pool.query<{ name: string }>(`select name from ${table} order by id`)
  return rows.map(({ name }) => name)
}

// Proves decided "Retention"
it('keys go 90 days after they were revoked or, if nobody did, expired; one that works stays, however old', async () => {
  // Ago, in minutes; null: it was not, or never ends by itself.
  const days = (count: number) => count * 1_440
  const keys: Record<string, [revoked: number | null, expired: number | null]> = {
    'works for ever': [null, null],
    'works still': [null, -1],
    'revoked within': [days(90) - 1, null],
    'revoked past it': [days(90) + 1, null],
    'revoked past it, not yet expired': [days(90) + 1, -1],
    'expired within': [null, days(90) - 1],
    'expired past it': [null, days(90) + 1],
    'expired past it, revoked within': [days(90) - 1, days(400)],
  }
  for (const [name, [revoked, expired]] of Object.entries(keys)) {
    await database.pool.query(
      `insert into api_key (account_id, name, key_hash, hint, created_at, revoked_at, expires_at)
       select id, $1, sha256(convert_to($1, 'UTF8')), '', now() - interval '3 years',
              now() - make_interval(mins => $2), now() - make_interval(mins => $3) from account`,
      [name, revoked, expired],
    )
  }
  assert.equal(await removeOldSecrets(database.pool, { step: 1 }), 3)
  assert.deepEqual(await names('api_key'), [
    'works for ever',
    'works still',
    'revoked within',
    'expired within',
    'expired past it, revoked within',
  ])
  assert.equal(await removeOldSecrets(database.pool), 0)
})

// Proves decided "Retention"
it('tokens go 90 days after they were revoked', async () => {
  const limit = 90 * 1_440
  for (const [name, revoked] of [
    ['works', null],
    ['within', limit - 1],
    ['past it', limit + 1],
  ] as const) {
    await database.pool.query(
      `insert into webhook_token (domain_id, name, token_hash, hint, created_at, revoked_at)
       select id, $1, sha256(convert_to($1, 'UTF8')), '', now() - interval '3 years', now() - make_interval(mins => $2) from domain`,
      [name, revoked],
    )
  }
  assert.equal(await removeOldSecrets(database.pool), 1)
  assert.deepEqual(await names('webhook_token'), ['works', 'within'])
})
