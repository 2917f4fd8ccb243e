import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setRole } from '../src/accounts/accounts.ts'
import { DEFAULT_PLANS } from '../src/accounts/plans.ts'
import { readLink, useLink } from '../src/accounts/sign-in/links.ts'
import { systemClock } from '../src/clock.ts'
import { openTestDatabase } from '../test/support/database.ts'
import { runCommandLine } from './command-line/run.ts'
import { firstAccountLine } from './node/first-account.ts'

const database = await openTestDatabase()
const settings = { DATABASE_URL: database.url, PREPAINT_PUBLIC_URL: 'https://render.example.com' }

const run = async (args: string) => {
  const result = await runCommandLine([...args.split(' '), '--json'], settings)
  return { code: result?.exitCode ?? 0, json: result?.json ?? {} }
}
const linkOf = async (args: string) => {
  const { code, json } = await run(args)
  assert.equal(code, 0, JSON.stringify(json))
  const [, token = ''] =
    /^https:\/\/render\.example\.com\/welcome#(pp_in_.+)$/.exec(String(json['url'])) ?? []
  return token
}
const offer = (token: string) => readLink(database.pool, token, systemClock.nowMs())

describe('links that let somebody in', () => {
  it('last from now on by the clock of the database, whatever the machine thinks', async (t) => {
    const truly = Date.now
    t.mock.method(Date, 'now', () => truly() - 30 * 86_400_000)
    const token = await linkOf('account invite --email early@example.com --plan pro')
    t.mock.restoreAll()
    const days = (Date.parse((await offer(token)).expires_at) - Date.now()) / 86_400_000
    assert(days > 6.9 && days <= 7, `${days} days`)
  })

  it('account invite: for an owner, or with --operator', async () => {
    const token = await linkOf('account invite --email guest@example.com --plan pro')
    assert.equal((await offer(token)).email, 'guest@example.com')
    const boss = await linkOf('account invite --email boss@example.com --plan pro --operator')
    const input = { email: null, password: 'correct horse' }
    await useLink(database.pool, DEFAULT_PLANS, boss, input, systemClock.nowMs())
    const { rows } = await database.pool.query('select email, role from account')
    assert.deepEqual(rows, [{ email: 'boss@example.com', role: 'operator' }])

    const again = await run('account invite --email boss@example.com --plan pro')
    assert.match(String(again.json['error']), /already/)
  })

  it('account reset-link', async () => {
    const token = await linkOf('account reset-link --email boss@example.com')
    const { kind, email } = await offer(token)
    assert.deepEqual([kind, email], ['reset', 'boss@example.com'])
    const { code, json } = await run('account reset-link --email nobody@example.com')
    assert.deepEqual([code, json], [1, { error: 'Account not found' }])
  })
})

it('account set-role', async () => {
  assert.equal((await run('account set-role --email boss@example.com --role owner')).json['role'], 'owner')
  await run('account set-role --email boss@example.com --role operator')
  const refused = await run('account set-role --email boss@example.com --role king')
  assert.deepEqual(refused, { code: 1, json: { error: '--role must be owner or operator' } })
})

it('the first account: a link with the largest plan for as long as no operator can sign in, each start a new one', async () => {
  const { pool } = database
  const line = () =>
    firstAccountLine({ pool, plans: DEFAULT_PLANS, clock: systemClock }, 'http://127.0.0.1:3000')
  assert.equal(await line(), null)
  await pool.query('update account set password_hash = null')
  const tokenOf = (text: string | null) =>
    /http:\/\/127\.0\.0\.1:3000\/welcome#(\S+)/.exec(text ?? '')?.[1] ?? ''
  const older = tokenOf(await line())
  const newer = tokenOf(await line())
  await assert.rejects(offer(older), { code: 'link_not_found' })
  const input = { email: 'first@example.com', password: 'correct horse' }
  const id = await useLink(pool, DEFAULT_PLANS, newer, input, systemClock.nowMs())
  const { rows } = await pool.query('select plan, role from account where id = $1', [id])
  assert.deepEqual(rows, [{ plan: 'enterprise', role: 'operator' }])
  assert.equal(await line(), null)
  await setRole(pool, id, 'owner')
  assert.notEqual(await line(), null)
})
