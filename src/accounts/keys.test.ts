import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { AppError, publicError } from '../errors.ts'
import type { AccountId } from '../ids.ts'
import { findKeyOwner } from './access.ts'
import { createAccount, setPlan } from './accounts.ts'
import { ACTIVE_KEY_LIMIT, createKey, listKeys, ownerOfKey, revokeKey } from './keys.ts'
import { DEFAULT_PLANS } from './plans.ts'

const NOW_MS = Date.parse('2026-11-15T12:30:00.000Z')
const now = { plans: DEFAULT_PLANS, nowMs: NOW_MS }
const LIMIT_TEXT = 'API key limit reached (5 per account)'

let database: TestDatabase
let accounts = 0
before(async () => {
  database = await testDatabase()
})
after(() => database.close())

async function account(plan = 'agency'): Promise<AccountId> {
  const email = `keys-${++accounts}@example.com`
  return (await createAccount(database.pool, DEFAULT_PLANS, { email, plan, password: null })).id
}
const create = (owner: AccountId, expiresAt: Date | null = null) =>
  createKey(database.pool, owner, { name: 'deploy', expiresAt }, now)

describe('createKey', () => {
  // Proves interface 2/17, interface 2/18, interface 2/19
  it('gives the raw key once; what is stored is its SHA-256', async () => {
    const owner = await account()
    const { id, name, key } = await create(owner)
    assert.equal(name, 'deploy')
    assert.match(key, /^pp_live_[A-Za-z0-9_-]{32,}$/)
    const { rows } = await database.pool.query('select * from api_key where id = $1', [id])
    assert.deepEqual(rows[0].key_hash, createHash('sha256').update(key).digest())
    assert(!JSON.stringify(rows[0]).includes(key))
  })

  // Proves interface 3/1, interface 5/4, interface 8/1, decided "Limits of keys and tokens reached"
  it('5 active keys are allowed, a sixth is not; a revoked or expired one makes room', async () => {
    const owner = await account()
    const first = await create(owner)
    await create(owner, new Date(NOW_MS + 1_000))
    for (let n = 2; n < ACTIVE_KEY_LIMIT; n++) await create(owner)
    await assert.rejects(create(owner), says(LIMIT_TEXT))

    await revokeKey(database.pool, owner, first.id, NOW_MS)
    await create(owner)
    await assert.rejects(create(owner), says(LIMIT_TEXT))

    const later = { plans: DEFAULT_PLANS, nowMs: NOW_MS + 1_000 }
    await createKey(database.pool, owner, { name: 'later', expiresAt: null }, later)
    await assert.rejects(
      createKey(database.pool, owner, { name: 'one more', expiresAt: null }, later),
      says(LIMIT_TEXT),
    )
  })

  // Proves interface 5/4, interface 8/1
  it('of 50 that come at once, 5 are made; another account is not in their way', async () => {
    // Several rounds: without the lock, one alone would pass now and then.
    for (let round = 0; round < 5; round++) {
      const [owner, other] = [await account(), await account()]
      const made = await Promise.allSettled([
        ...Array.from({ length: 50 }, () => create(owner)),
        create(other),
      ])
      assert.equal(made.at(-1)!.status, 'fulfilled')
      const failed = made.slice(0, 50).filter((each) => each.status === 'rejected')
      assert.equal(failed.length, 45)
      assert(failed.every((each) => says(LIMIT_TEXT)(each.reason)))
      assert.equal((await listKeys(database.pool, owner, NOW_MS)).length, 5)
    }
  })

  // Proves interface 3/1, decided "Keys and tokens on a plan without them"
  it('only where the plan allows it', async () => {
    for (const plan of ['starter', 'pro']) {
      await assert.rejects(create(await account(plan)), says('API access requires Agency plan or above'))
    }
    for (const plan of ['agency', 'agency_plus', 'enterprise']) await create(await account(plan))
  })

  it('refuses a time that has passed, a name that is none, an account that is none', async () => {
    const owner = await account()
    for (const at of [NOW_MS, NOW_MS - 1, Number.NaN]) {
      await assert.rejects(create(owner, new Date(at)), says('expires must be a time in the future'))
    }
    await assert.rejects(
      createKey(database.pool, owner, { name: ' ', expiresAt: null }, now),
      says('name is required'),
    )
    await assert.rejects(create(0 as AccountId), says('Account not found'))
  })
})

describe('findKeyOwner', () => {
  // Proves interface 2/21
  it('knows the key until it expires, to the millisecond', async () => {
    const owner = await account()
    const { key } = await create(owner, new Date(NOW_MS + 1_000))
    assert.equal((await findKeyOwner(database.pool, key, NOW_MS + 999))?.account, owner)
    assert.equal(await findKeyOwner(database.pool, key, NOW_MS + 1_000), null)
  })

  it('knows it no more at the moment it is revoked, and sees the plan of the moment', async () => {
    const owner = await account()
    const { id, key } = await create(owner)
    await setPlan(database.pool, DEFAULT_PLANS, owner, 'pro')
    assert.equal((await findKeyOwner(database.pool, key, NOW_MS))?.plan, 'pro')
    await revokeKey(database.pool, owner, id, NOW_MS)
    assert.equal(await findKeyOwner(database.pool, key, NOW_MS), null)
  })

  it('knows nothing else', async () => {
    const { key } = await create(await account())
    for (const raw of [
      '',
      'pp_live_',
      `${key}x`,
      key.slice(0, -1),
      key.toUpperCase(),
      'x'.repeat(10_000),
      'pp_live_\0',
    ]) {
      assert.equal(await findKeyOwner(database.pool, raw, NOW_MS), null)
    }
  })
})

describe('listKeys, revokeKey, ownerOfKey', () => {
  // Proves interface 2/18, interface 2/23
  it('show each key with its state, never with its hash', async () => {
    const owner = await account()
    const kept = await create(owner)
    const gone = await create(owner)
    const ended = await create(owner, new Date(NOW_MS + 1))
    await revokeKey(database.pool, owner, gone.id, NOW_MS)
    const keys = await listKeys(database.pool, owner, NOW_MS + 1)
    assert.deepEqual(
      keys.map(({ id, state }) => [id, state]),
      [
        [kept.id, 'active'],
        [gone.id, 'revoked'],
        [ended.id, 'expired'],
      ],
    )
    assert.deepEqual(Object.keys(keys[0]!).sort(), [
      'created_at',
      'expires_at',
      'hint',
      'id',
      'last_used_at',
      'name',
      'revoked_at',
      'state',
    ])
    assert(kept.key.startsWith(keys[0]!.hint))
    assert.equal(keys[1]!.revoked_at, new Date(NOW_MS).toISOString())
  })

  it("nobody revokes or sees another account's key", async () => {
    const [owner, stranger] = [await account(), await account()]
    const { id, key } = await create(owner)
    await assert.rejects(revokeKey(database.pool, stranger, id, NOW_MS), says('API key not found'))
    assert.deepEqual(await listKeys(database.pool, stranger, NOW_MS), [])
    assert.equal((await findKeyOwner(database.pool, key, NOW_MS))?.account, owner)
    assert.equal(await ownerOfKey(database.pool, id), owner)
  })

  it('revoking again keeps the first time; an unknown id is said so', async () => {
    const owner = await account()
    const { id } = await create(owner)
    await revokeKey(database.pool, owner, id, NOW_MS)
    await revokeKey(database.pool, owner, id, NOW_MS + 5_000)
    assert.equal(
      (await listKeys(database.pool, owner, NOW_MS))[0]!.revoked_at,
      new Date(NOW_MS).toISOString(),
    )
    for (const unknown of [0, -1, 2 ** 40]) {
      await assert.rejects(ownerOfKey(database.pool, unknown), says('API key not found'))
    }
  })
})

function says(text: string) {
  return (error: unknown) => error instanceof AppError && publicError(error).body.error === text
}
