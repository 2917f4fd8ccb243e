import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { AppError, publicError } from '../errors.ts'
import type { AccountId, DomainName } from '../ids.ts'
import { createDomain } from '../sites/domain-changes.ts'
import { findTokenOwner } from './access.ts'
import { createAccount } from './accounts.ts'
import {
  ACTIVE_TOKEN_LIMIT,
  createToken,
  listTokens,
  ownerOfDomain,
  ownerOfToken,
  revokeToken,
} from './keys.ts'
import { DEFAULT_PLANS } from './plans.ts'

const NOW_MS = Date.parse('2026-11-15T12:30:00.000Z')
const LIMIT_TEXT = 'Webhook token limit reached (5 per domain)'

let database: TestDatabase
let count = 0
before(async () => {
  database = await testDatabase()
})
after(() => database.close())

async function account(plan = 'agency_plus'): Promise<AccountId> {
  const email = `tokens-${++count}@example.com`
  return (await createAccount(database.pool, DEFAULT_PLANS, { email, plan, password: null })).id
}
async function domain(owner: AccountId): Promise<DomainName> {
  const name = `d${++count}.example.com` as DomainName
  const view = { plans: DEFAULT_PLANS, nowMs: NOW_MS }
  await createDomain(database.pool, owner, { name, originUrl: 'https://origin.example.com' }, view)
  return name
}
const create = (owner: AccountId, name: DomainName) =>
  createToken(database.pool, owner, name, 'cms', DEFAULT_PLANS)

describe('createToken', () => {
  // Proves interface 2/25, interface 2/26
  it('gives the raw token once; what is stored is its SHA-256', async () => {
    const owner = await account()
    const name = await domain(owner)
    const made = await create(owner, name)
    assert.match(made.token, /^pp_wh_[A-Za-z0-9_-]{32,}$/)
    const { rows } = await database.pool.query('select * from webhook_token where id = $1', [made.id])
    assert.deepEqual(rows[0].token_hash, createHash('sha256').update(made.token).digest())
    assert(!JSON.stringify(rows[0]).includes(made.token))
    const found = await findTokenOwner(database.pool, made.token)
    assert.deepEqual([found?.account, found?.name, found?.isActive], [owner, name, true])
  })

  // Proves interface 5/8, interface 8/2, decided "Limits of keys and tokens reached"
  it('5 active tokens are allowed for a domain, a sixth is not; a revoked one makes room', async () => {
    const owner = await account()
    const [name, second] = [await domain(owner), await domain(owner)]
    const first = await create(owner, name)
    for (let n = 1; n < ACTIVE_TOKEN_LIMIT; n++) await create(owner, name)
    await assert.rejects(create(owner, name), says(LIMIT_TEXT))
    await create(owner, second)
    await revokeToken(database.pool, owner, first.id, NOW_MS)
    await create(owner, name)
    await assert.rejects(create(owner, name), says(LIMIT_TEXT))
  })

  // Proves interface 5/8, interface 8/2
  it('of 50 that come at once, 5 are made', async () => {
    const owner = await account()
    const name = await domain(owner)
    const made = await Promise.allSettled(Array.from({ length: 50 }, () => create(owner, name)))
    const failed = made.filter((each) => each.status === 'rejected')
    assert.equal(failed.length, 45)
    assert(failed.every((each) => says(LIMIT_TEXT)(each.reason)))
    assert.equal((await listTokens(database.pool, owner, name)).length, 5)
  })

  // Proves interface 3/1, decided "Keys and tokens on a plan without them"
  it('only where the plan allows it', async () => {
    const agency = await account('agency')
    await assert.rejects(create(agency, await domain(agency)), says('Webhook refresh requires Agency+ plan'))
    const enterprise = await account('enterprise')
    await create(enterprise, await domain(enterprise))
  })

  it("refuses an unknown domain and another account's alike", async () => {
    const [owner, stranger] = [await account(), await account()]
    const name = await domain(owner)
    await assert.rejects(create(stranger, name), says('Domain not found'))
    await assert.rejects(create(stranger, 'none.example.com' as DomainName), says('Domain not found'))
  })
})

describe('listTokens, revokeToken, ownerOfToken, ownerOfDomain', () => {
  // Proves interface 2/26
  it('show each token with its state, never with its hash; a revoked one is known no more', async () => {
    const owner = await account()
    const name = await domain(owner)
    const [kept, gone] = [await create(owner, name), await create(owner, name)]
    await revokeToken(database.pool, owner, gone.id, NOW_MS)
    const tokens = await listTokens(database.pool, owner, name)
    assert.deepEqual(
      tokens.map(({ id, state }) => [id, state]),
      [
        [kept.id, 'active'],
        [gone.id, 'revoked'],
      ],
    )
    assert(!JSON.stringify(tokens).includes('hash'))
    assert.equal(await findTokenOwner(database.pool, gone.token), null)
    assert.notEqual(await findTokenOwner(database.pool, kept.token), null)
  })

  it("nobody revokes or lists another account's tokens", async () => {
    const [owner, stranger] = [await account(), await account()]
    const name = await domain(owner)
    const { id, token } = await create(owner, name)
    await assert.rejects(revokeToken(database.pool, stranger, id, NOW_MS), says('Webhook token not found'))
    await assert.rejects(listTokens(database.pool, stranger, name), says('Domain not found'))
    assert.notEqual(await findTokenOwner(database.pool, token), null)
    assert.equal(await ownerOfToken(database.pool, id), owner)
    assert.equal(await ownerOfDomain(database.pool, name), owner)
    await assert.rejects(ownerOfToken(database.pool, 2 ** 40), says('Webhook token not found'))
    await assert.rejects(
      ownerOfDomain(database.pool, 'none.example.com' as DomainName),
      says('Domain not found'),
    )
  })
})

function says(text: string) {
  return (error: unknown) => error instanceof AppError && publicError(error).body.error === text
}
