import assert from 'node:assert/strict'
import { it } from 'node:test'

import pg from 'pg'

import { openTestDatabase } from '../../test/support/database.ts'
import { silentLog } from '../log.ts'
import { findKeyOwner } from './access.ts'
import { createAccount } from './accounts.ts'
import { createKey, listKeys } from './keys.ts'
import { createLastUse } from './last-use.ts'
import { DEFAULT_PLANS } from './plans.ts'

const T0 = Date.parse('2026-11-15T12:30:00.000Z')

const database = await openTestDatabase()

// Proves interface 2/20
it('follows the use of a key, at most once a minute, and holds nobody up', async () => {
  const { pool } = database
  const account = await createAccount(pool, DEFAULT_PLANS, {
    email: 'a@example.com',
    plan: 'agency',
    password: null,
  })
  const now = { plans: DEFAULT_PLANS, nowMs: T0 }
  const { id, key } = await createKey(pool, account.id, { name: 'k', expiresAt: null }, now)

  let atMs = T0
  let updates = 0
  const counted = {
    query: (...args: Parameters<typeof pool.query>) => {
      updates++
      return pool.query(...args)
    },
  } as typeof pool
  const lastUse = createLastUse(counted, { nowMs: () => atMs }, silentLog())
  const use = async (when: number) => {
    atMs = when
    const owner = await findKeyOwner(pool, key, when)
    lastUse.note('api_key', id, owner!.lastUsedAt)
    await lastUse.settled()
    return (await listKeys(pool, account.id, when))[0]!.last_used_at
  }

  assert.equal((await listKeys(pool, account.id, T0))[0]!.last_used_at, null)
  assert.equal(await use(T0), new Date(T0).toISOString())
  assert.equal(await use(T0 + 59_999), new Date(T0).toISOString())
  assert.equal(updates, 1)
  assert.equal(await use(T0 + 60_000), new Date(T0 + 60_000).toISOString())

  // Many requests at once, all of which still saw the old time.
  atMs = T0 + 200_000
  for (let n = 0; n < 50; n++) lastUse.note('api_key', id, new Date(T0 + 60_000))
  await lastUse.settled()
  assert.equal(updates, 3)
})

it('a database that is away harms no request', async () => {
  const away = new pg.Pool({ host: '/nowhere' })
  await assert.rejects(away.query('select 1'))
  const lastUse = createLastUse(away, { nowMs: () => T0 }, silentLog())
  lastUse.note('webhook_token', 1, null)
  await lastUse.settled()
  await away.end()
})
