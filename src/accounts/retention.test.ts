import assert from 'node:assert/strict'
import { it } from 'node:test'

import { openTestDatabase } from '../../test/support/database.ts'
import { removeOldCounts, removeOldSecrets, removeOldSignIns } from './retention.ts'

const database = await openTestDatabase()
const { pool } = database
await pool.query(`insert into account (email, plan) values ('a@example.com', 'enterprise')`)
await pool.query(
  `insert into domain (account_id, custom_domain, origin_url)
   select a.id, n || '.example', 'http://origin.example' from account a, unnest(array['one', 'two']) n`,
)

const column = async (table: string, name: string) => {
  const { rows } = await pool.query<{ value: string }>(`select ${name} as value from ${table} order by ctid`)
  return rows.map(({ value }) => value)
}
const days = (count: number) => count * 1_440

// Proves decided "Retention"
it('months stay for a year beside the one that runs', async () => {
  await pool.query(
    `insert into render_count (domain_id, month, renders)
     select d.id, (date_trunc('month', now() at time zone 'UTC') - make_interval(months => ago))::date, ago
       from domain d, generate_series(0, 14) ago`,
  )
  assert.equal(await removeOldCounts(pool, { step: 1 }), 4)
  const { rows } = await pool.query(
    'select max(renders) as oldest, count(*)::int as months from render_count',
  )
  assert.deepEqual(rows, [{ oldest: 12, months: 26 }])
})

it('windows of webhooks go an hour after their end', async () => {
  await pool.query(
    `insert into webhook_window select id, now() - make_interval(mins => case custom_domain when 'one.example' then 119 else 121 end), 1
       from domain`,
  )
  assert.equal(await removeOldCounts(pool), 1)
  const { rows } = await pool.query('select custom_domain from webhook_window join domain on id = domain_id')
  assert.deepEqual(rows, [{ custom_domain: 'one.example' }])
})

// Proves decided "Retention"
it('keys go 90 days after they were revoked or, if nobody did, expired; one that works stays, however old', async () => {
  // Ago, in minutes; null: it was not, or never ends by itself.
  const keys: [name: string, revoked: number | null, expired: number | null][] = [
    ['works for ever', null, null],
    ['works still', null, -1],
    ['revoked within', days(90) - 1, null],
    ['revoked past it', days(90) + 1, null],
    ['revoked past it, not yet expired', days(90) + 1, -1],
    ['expired within', null, days(90) - 1],
    ['expired past it', null, days(90) + 1],
    ['expired past it, revoked within', days(90) - 1, days(400)],
  ]
  for (const key of keys) {
    await pool.query(
      `insert into api_key (account_id, name, key_hash, hint, created_at, revoked_at, expires_at)
       select id, $1, sha256(convert_to($1, 'UTF8')), '', now() - interval '3 years',
              now() - make_interval(mins => $2), now() - make_interval(mins => $3) from account`,
      key,
    )
  }
  assert.equal(await removeOldSecrets(pool, { step: 1 }), 3)
  const stay = ['works for ever', 'works still', 'revoked within', 'expired within']
  assert.deepEqual(await column('api_key', 'name'), [...stay, 'expired past it, revoked within'])
  assert.equal(await removeOldSecrets(pool), 0)
})

// Proves decided "Retention"
it('tokens go 90 days after they were revoked', async () => {
  for (const token of [
    ['works', null],
    ['within', days(90) - 1],
    ['past it', days(90) + 1],
  ] as [string, number | null][]) {
    await pool.query(
      `insert into webhook_token (domain_id, name, token_hash, hint, created_at, revoked_at)
       select id, $1, sha256(convert_to($1, 'UTF8')), '', now() - interval '3 years', now() - make_interval(mins => $2)
         from domain where custom_domain = 'one.example'`,
      token,
    )
  }
  assert.equal(await removeOldSecrets(pool), 1)
  assert.deepEqual(await column('webhook_token', 'name'), ['works', 'within'])
})

// Proves decided "Retention"
it('sessions, links and failures go half an hour after they have ended', async () => {
  // In minutes: the first two are still good, or may be to another node.
  for (const age of [-60, 29, 31, 60]) {
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
  assert.deepEqual(await column('sign_in_session', 'user_agent'), ['-60', '29'])
  assert.deepEqual(await column('sign_in_link', 'email'), ['-60', '29'])
  assert.deepEqual(await column('sign_in_failure', 'subject'), ['-60', '29'])
})
