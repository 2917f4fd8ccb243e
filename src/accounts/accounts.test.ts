import assert from 'node:assert/strict'
import { it } from 'node:test'
import { invalidatedBy, openTestDatabase } from '../../test/support/database.ts'
import { says } from '../../test/support/public-error.ts'
import type { AccountId } from '../ids.ts'
import { createAccount, findAccount, setPlan } from './accounts.ts'
import { DEFAULT_PLANS } from './plans.ts'
import { verifyPassword } from './sign-in/passwords.ts'

const database = await openTestDatabase()

const create = (email: string, plan = 'pro', password: string | null = null) =>
  createAccount(database.pool, DEFAULT_PLANS, { email, plan, password })

it('keeps the e-mail in lower case and the password only as its hash; one account for an e-mail', async () => {
  const account = await create(' Ann@Example.COM ', 'agency', 'correct horse')
  assert.deepEqual([account.email, account.plan], ['ann@example.com', 'agency'])
  assert(!('password' in account))
  const { rows } = await database.pool.query('select password_hash from account where id = $1', [account.id])
  assert.equal(await verifyPassword('correct horse', rows[0].password_hash), true)
  assert(!JSON.stringify(rows).includes('correct horse'))
  assert.deepEqual(await findAccount(database.pool, 'ANN@example.com'), account)
  await assert.rejects(create('ANN@example.com'), says('Account already exists'))
  for (const email of ['lost@example.com', 'no e-mail', '']) {
    await assert.rejects(findAccount(database.pool, email), says('Account not found'))
  }
})

it('names what is wrong; passwords have 8 to 128 characters, counted as they are hashed', async () => {
  await assert.rejects(create('nobody'), says('email must be an e-mail address'))
  const plans = says('plan must be one of starter, pro, agency, agency_plus, enterprise')
  await assert.rejects(create('p@example.com', 'gold'), plans)
  await assert.rejects(create('p@example.com', 'toString'), plans)
  const wrong = says('password must have 8 to 128 characters')
  await assert.rejects(create('p7@example.com', 'pro', 'x'.repeat(7)), wrong)
  await assert.rejects(create('p129@example.com', 'pro', '🔑'.repeat(129)), wrong)
  await create('p8@example.com', 'pro', 'x'.repeat(8))
  await create('p128@example.com', 'pro', '🔑'.repeat(128))
})

it('setPlan changes the plan and tells every node', async () => {
  const { id } = await create('mover@example.com', 'starter')
  const told = await invalidatedBy(database, async () =>
    assert.equal((await setPlan(database.pool, DEFAULT_PLANS, id, 'agency')).plan, 'agency'),
  )
  assert.deepEqual(told, [{ account: id }])
  await assert.rejects(setPlan(database.pool, DEFAULT_PLANS, id, 'gold'), /invalid_field/)
  const nobody = setPlan(database.pool, DEFAULT_PLANS, 0 as AccountId, 'pro')
  await assert.rejects(nobody, says('Account not found'))
})
