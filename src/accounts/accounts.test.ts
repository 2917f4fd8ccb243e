import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { createListener } from '../db/listener.ts'
import { AppError, publicError } from '../errors.ts'
import type { AccountId } from '../ids.ts'
import { silentLog } from '../log.ts'
import { createAccount, findAccount, listAccounts, setPlan } from './accounts.ts'
import { DEFAULT_PLANS } from './plans.ts'
import { verifyPassword } from './sign-in/passwords.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database.close())

const create = (email: string, plan = 'pro', password: string | null = null) =>
  createAccount(database.pool, DEFAULT_PLANS, { email, plan, password })

describe('createAccount', () => {
  it('keeps the e-mail in lower case and the password only as its hash', async () => {
    const account = await create(' Ann@Example.COM ', 'agency', 'correct horse')
    assert.deepEqual([account.email, account.plan], ['ann@example.com', 'agency'])
    assert(!('password' in account))
    const { rows } = await database.pool.query('select password_hash from account where id = $1', [
      account.id,
    ])
    assert.equal(await verifyPassword('correct horse', rows[0].password_hash), true)
    assert(!JSON.stringify(rows).includes('correct horse'))
  })

  it('one account for an e-mail, however it is spelt', async () => {
    await create('twice@example.com')
    await assert.rejects(create('TWICE@example.com'), says('Account already exists'))
  })

  it('names what is wrong', async () => {
    await assert.rejects(create('nobody'), says('email must be an e-mail address'))
    await assert.rejects(
      create('p@example.com', 'gold'),
      says('plan must be one of starter, pro, agency, agency_plus, enterprise'),
    )
    await assert.rejects(create('p@example.com', 'toString'), /invalid_field/)
  })

  it('passwords have 8 to 128 characters, counted as they are hashed', async () => {
    const wrong = says('password must have 8 to 128 characters')
    await assert.rejects(create('p7@example.com', 'pro', 'x'.repeat(7)), wrong)
    await assert.rejects(create('p129@example.com', 'pro', '🔑'.repeat(129)), wrong)
    await create('p8@example.com', 'pro', 'x'.repeat(8))
    await create('p128@example.com', 'pro', '🔑'.repeat(128))
  })
})

it('findAccount and listAccounts', async () => {
  const made = await create('found@example.com')
  assert.deepEqual(await findAccount(database.pool, 'FOUND@example.com'), made)
  assert.deepEqual(
    (await listAccounts(database.pool)).filter(({ id }) => id === made.id),
    [made],
  )
  for (const email of ['lost@example.com', 'no e-mail', '']) {
    await assert.rejects(findAccount(database.pool, email), says('Account not found'))
  }
})

it('setPlan changes the plan and tells every node', async () => {
  const { id } = await create('mover@example.com', 'starter')
  const listener = await createListener(database.connection, silentLog())
  try {
    const { promise, resolve } = Promise.withResolvers<string>()
    listener.on('invalidate', resolve)
    await listener.settled()
    assert.equal((await setPlan(database.pool, DEFAULT_PLANS, id, 'agency')).plan, 'agency')
    assert.deepEqual(JSON.parse(await promise), { account: id })
  } finally {
    await listener.close()
  }
  await assert.rejects(setPlan(database.pool, DEFAULT_PLANS, id, 'gold'), /invalid_field/)
  await assert.rejects(
    setPlan(database.pool, DEFAULT_PLANS, 0 as AccountId, 'pro'),
    says('Account not found'),
  )
})

function says(text: string) {
  return (error: unknown) => error instanceof AppError && publicError(error).body.error === text
}
