import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { type AccountId, type DomainName, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { openTestDatabase } from '../../../../test/support/database.ts'
import { says } from '../../../../test/support/public-error.ts'
import { createDomain } from '../sites/domain-changes.ts'
import { findKeyOwner, findTokenOwner } from './access.ts'
import { createAccount } from './accounts.ts'
import * as keys from './keys.ts'
import { LastUse } from './last-use.ts'
import { createSecret, hashSecret, parseSecretName } from './secrets.ts'

const database = await openTestDatabase()

const NOW_MS = Date.parse('2026-11-15T12:30:00.000Z')
const now = { plans: DEFAULT_PLANS, nowMs: NOW_MS }
const KEYS_FULL = says('API key limit reached (5 per account)')
const TOKENS_FULL = says('Webhook token limit reached (5 per domain)')

const { pool } = database

let count = 0
async function account(plan = 'agency_plus'): Promise<AccountId> {
  const email = `keys-${++count}@example.com`
  return (await createAccount(pool, DEFAULT_PLANS, { email, plan, password: null })).id
}
async function domain(owner: AccountId): Promise<DomainName> {
  const name = `d${++count}.example.com` as DomainName
  await createDomain(pool, owner, { name, originUrl: 'https://origin.example.com' }, now)
  return name
}
const newKey = (owner: AccountId, expiresAt: Date | null = null, nowMs = NOW_MS) =>
  keys.createKey(pool, owner, { name: 'deploy', expiresAt }, { ...now, nowMs })
const newToken = (owner: AccountId, name: DomainName) =>
  keys.createToken(pool, owner, name, 'cms', DEFAULT_PLANS)
const statesOf = (listed: readonly { id: number; state: string }[]) =>
  listed.map(({ id, state }) => `${id} ${state}`)
/** How many of 50 at once are made; all others are refused so. */
async function made(create: () => Promise<unknown>, refusal: (error: unknown) => boolean): Promise<number> {
  const all = await Promise.allSettled(Array.from({ length: 50 }, create))
  const failed = all.filter((each) => each.status === 'rejected')
  assert(failed.every(({ reason }) => refusal(reason)))
  return all.length - failed.length
}

// Proves interface 2/17, interface 2/18, interface 2/19
it('keys: the raw key is given once; what is stored is its SHA-256, and nothing else finds it', async () => {
  const owner = await account('agency')
  const { id, name, key } = await newKey(owner)
  assert.equal(name, 'deploy')
  assert.match(key, /^pp_live_/)
  const { rows } = await pool.query('select * from api_key where id = $1', [id])
  assert.deepEqual(rows[0].key_hash, createHash('sha256').update(key).digest())
  assert(!JSON.stringify(rows[0]).includes(key))
  assert.equal((await findKeyOwner(pool, key, NOW_MS))?.account, owner)
  for (const wrong of ['', `${key}x`, key.toUpperCase(), 'pp_live_\0'])
    assert.equal(await findKeyOwner(pool, wrong, NOW_MS), null)
})

// Proves interface 3/1, interface 5/4, interface 8/1, decided "Limits of keys and tokens reached"
it('keys: 5 active keys are allowed, a sixth is not; a revoked or expired one makes room', async () => {
  const owner = await account()
  const first = await newKey(owner)
  await newKey(owner, new Date(NOW_MS + 1_000))
  for (let n = 2; n < 5; n++) await newKey(owner)
  await assert.rejects(newKey(owner), KEYS_FULL)
  await keys.revokeKey(pool, owner, first.id, NOW_MS)
  await newKey(owner)
  await newKey(owner, null, NOW_MS + 1_000)
  await assert.rejects(newKey(owner, null, NOW_MS + 1_000), KEYS_FULL)
})

it('keys: of 50 that come at once, 5 are made', async () => {
  // Several rounds: without the lock, one alone would pass now and then.
  for (let round = 0; round < 3; round++) {
    const owner = await account()
    assert.equal(await made(() => newKey(owner), KEYS_FULL), 5)
  }
})

// Proves interface 3/1, decided "Keys and tokens on a plan without them"
it('keys: only where the plan allows it', async () => {
  await assert.rejects(newKey(await account('pro')), says('API access requires Agency plan or above'))
  await newKey(await account('agency'))
})

// Proves interface 2/18, interface 2/21, interface 2/23
it('keys: are listed with their state, never with their hash; revoking again keeps the first time', async () => {
  const owner = await account()
  const [kept, gone] = [await newKey(owner), await newKey(owner)]
  const ended = await newKey(owner, new Date(NOW_MS + 1))
  await keys.revokeKey(pool, owner, gone.id, NOW_MS)
  await keys.revokeKey(pool, owner, gone.id, NOW_MS + 5_000)
  const listed = await keys.listKeys(pool, owner, NOW_MS + 1)
  assert.deepEqual(statesOf(listed), [`${kept.id} active`, `${gone.id} revoked`, `${ended.id} expired`])
  const fields = 'created_at created_by domains expires_at hint id last_used_at name revoked_at rights state'
  assert.deepEqual(Object.keys(listed[0]!).sort(), fields.split(' '))
  assert(kept.key.startsWith(listed[0]!.hint))
  assert.equal(listed[1]!.revoked_at, new Date(NOW_MS).toISOString())
  await assert.rejects(keys.revokeKey(pool, await account(), kept.id, NOW_MS), says('API key not found'))
  assert.equal(await keys.ownerOfKey(pool, kept.id), owner)
  await assert.rejects(keys.ownerOfKey(pool, 2 ** 40), says('API key not found'))
})

// Proves interface 5/8, interface 8/2, decided "Limits of keys and tokens reached"
it('webhook tokens: 5 active tokens are allowed for a domain, a sixth is not; a revoked one makes room; of 50 at once, 5 are made', async () => {
  const owner = await account()
  const [name, second] = [await domain(owner), await domain(owner)]
  const first = await newToken(owner, name)
  for (let n = 1; n < 5; n++) await newToken(owner, name)
  await assert.rejects(newToken(owner, name), TOKENS_FULL)
  await keys.revokeToken(pool, wholeAccount(owner), first.id, NOW_MS)
  await newToken(owner, name)
  assert.equal(await made(() => newToken(owner, second), TOKENS_FULL), 5)
})

// Proves interface 3/1, decided "Keys and tokens on a plan without them"
it("webhook tokens: only where the plan allows it, and for the account's own domains", async () => {
  const [agency, enterprise] = [await account('agency'), await account('enterprise')]
  const name = await domain(agency)
  await assert.rejects(newToken(agency, name), says('Webhook refresh requires Agency+ plan'))
  for (const other of [name, 'none.example.com' as DomainName]) {
    await assert.rejects(newToken(enterprise, other), says('Domain not found'))
    await assert.rejects(keys.listTokens(pool, enterprise, other), says('Domain not found'))
  }
  await newToken(enterprise, await domain(enterprise))
})

// Proves interface 2/25, interface 2/26
it('webhook tokens: only its SHA-256 is stored; they are listed with their state; a revoked one is known no more', async () => {
  const owner = await account()
  const name = await domain(owner)
  const [kept, gone] = [await newToken(owner, name), await newToken(owner, name)]
  assert.match(kept.token, /^pp_wh_/)
  const { rows } = await pool.query('select * from webhook_token where id = $1', [kept.id])
  assert.deepEqual(rows[0].token_hash, createHash('sha256').update(kept.token).digest())
  assert(!JSON.stringify(rows[0]).includes(kept.token))
  await keys.revokeToken(pool, wholeAccount(owner), gone.id, NOW_MS)
  const listed = await keys.listTokens(pool, owner, name)
  assert.deepEqual(statesOf(listed), [`${kept.id} active`, `${gone.id} revoked`])
  assert(!JSON.stringify(listed).includes('hash'))
  const strangers = keys.revokeToken(pool, wholeAccount(await account()), kept.id, NOW_MS)
  await assert.rejects(strangers, says('Webhook token not found'))
  assert.equal(await findTokenOwner(pool, gone.token), null)
  const found = await findTokenOwner(pool, kept.token)
  assert.deepEqual([found?.account, found?.name, found?.isActive], [owner, name, true])
  assert.equal(await keys.ownerOfToken(pool, kept.id), owner)
  assert.equal(await keys.ownerOfDomain(pool, name), owner)
  await assert.rejects(keys.ownerOfToken(pool, 2 ** 40), says('Webhook token not found'))
  await assert.rejects(keys.ownerOfDomain(pool, 'none' as DomainName), says('Domain not found'))
})

// Proves interface 2/20
it('last_used_at of a key follows its use, at most once a minute', async () => {
  const owner = await account()
  const { id, key } = await newKey(owner, null, NOW_MS)

  let atMs = NOW_MS
  const lastUse = new LastUse(pool, { nowMs: () => atMs }, silentLog())
  const use = async (when: number) => {
    atMs = when
    lastUse.note('api_key', id, (await findKeyOwner(pool, key, when))!.lastUsedAt)
    await lastUse.settled()
    return Date.parse((await keys.listKeys(pool, owner, when))[0]!.last_used_at!)
  }
  assert.equal((await keys.listKeys(pool, owner, NOW_MS))[0]!.last_used_at, null)
  assert.equal(await use(NOW_MS), NOW_MS)
  assert.equal(await use(NOW_MS + 59_999), NOW_MS)
  assert.equal(await use(NOW_MS + 60_000), NOW_MS + 60_000)
})

// Proves interface 2/16, interface 2/24, decided "Name, prefixes"
it('secrets have at least 190 random bits, and a hint of a few characters', () => {
  for (const prefix of ['pp_live_', 'pp_wh_'] as const) {
    const { raw, hash, hint } = createSecret(prefix)
    assert.match(raw, new RegExp(`^${prefix}[A-Za-z0-9_-]{32,}$`))
    assert((raw.length - prefix.length) * Math.log2(64) >= 190)
    assert.deepEqual(hash, hashSecret(raw))
    assert(raw.startsWith(hint) && hint.length === prefix.length + 4)
    assert.notEqual(createSecret(prefix).raw, raw)
  }
})

it('a name has 1 to 100 characters, without the blanks around it, and no control characters', () => {
  assert.equal(parseSecretName('🔑'.repeat(100)).length, 200)
  assert.throws(() => parseSecretName('k'.repeat(101)), says('name must have at most 100 characters'))
  assert.equal(parseSecretName('  deploy bot '), 'deploy bot')
  assert.throws(() => parseSecretName('  '), says('name is required'))
  for (const wrong of ['a\nb', 'a\x7f', 'a\ud800'])
    assert.throws(() => parseSecretName(wrong), says('name must not contain control characters'))
})
