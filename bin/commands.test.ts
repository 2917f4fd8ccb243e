import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { findPersonById, setOperator } from '@prepaint/service/accounts/persons.ts'
import { readLink, useLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { createTestCa } from '../test/support/certificate-authority.ts'
import { testCommands } from '../test/support/commands.ts'
import { openTestDatabase } from '../test/support/database.ts'
import { openFolder } from '../test/support/folder.ts'
import { addTestDomain } from '../test/support/traffic.ts'
import { firstAccountLine, firstOperatorLine } from './node/first-account.ts'

const database = await openTestDatabase()
const { pool } = database
const folder = openFolder()
const file = (name: string, content: string | Buffer) => {
  writeFileSync(path.join(folder, name), content)
  return path.join(folder, name)
}
const { good, printed, refused, run } = testCommands({
  DATABASE_URL: database.url,
  PREPAINT_DATA_DIR: folder,
  PREPAINT_PUBLIC_URL: 'https://render.example.com',
})
await addTestDomain(pool, 'shop.example.com')

// Proves decided "Backup"
it('a backup holds what was there, for its owner alone; a file that is damaged leaves the database empty', async () => {
  const empty = await openTestDatabase({ empty: true })
  const there = { DATABASE_URL: empty.url }
  const whole = path.join(folder, 'all.backup')
  await good(`backup ${whole}`)
  assert.equal(statSync(whole).mode & 0o777, 0o600)

  const bytes = readFileSync(whole)
  await refused(`restore ${folder}/none`, /cannot be read as a backup: ENOENT/, there)
  await refused(`restore ${file('text', 'no backup')}`, /cannot be read as a backup/, there)
  const cut = file('cut', bytes.subarray(0, -100))
  await refused(`restore ${cut}`, /cannot be read|is incomplete/, there)
  bytes[Math.floor(bytes.length / 2)]! ^= 0xff
  const changed = file('changed', bytes)
  await refused(`restore ${changed}`, /cannot be read|damaged|invalid|is incomplete/, there)

  const restored = await good(`restore ${whole}`, there)
  assert.equal(restored['divided'], true)
  // What is new gets numbers that were not given before.
  await addTestDomain(empty.pool, 'new.example')
  const domains = await empty.column('select custom_domain from domain order by id')
  assert.deepEqual(domains, ['shop.example.com', 'new.example'])
})

describe('certificate', () => {
  const ca = createTestCa()
  const at = '--domain shop.example.com'
  const set = ({ chain, key } = ca.leaf()) =>
    `certificate set ${at} --chain ${file('chain.pem', chain)} --key ${file('key.pem', key)}`

  it('set, show, remove; what is wrong is said, and the key is shown nowhere', async () => {
    const made = await run(set())
    assert.doesNotMatch(JSON.stringify(made), /PRIVATE/)
    assert.deepEqual(await good(`certificate show ${at}`), made.json)
    const shown = await printed(`certificate show ${at}`)
    assert.match(shown, /supplied by the owner\n.*next order +none: your own certificate is used/s)
    assert.match(await printed('domain list'), /in use/)
    await refused(set({ ...ca.leaf(), key: ca.leaf().key }), /private_key is not the key/)

    assert.match(await printed(`certificate remove ${at}`), /no longer used/)
    await refused(`certificate remove ${at}`, /Certificate not found/)
    await refused('certificate show --domain nobody.example.com', /Domain not found/)
  })

  it('forget: the way out where the master key is lost, and only there', async () => {
    const elsewhere = { PREPAINT_DATA_DIR: path.join(folder, 'elsewhere') }
    await good(set())
    await refused('certificate forget --lost-key', /nothing is lost/)
    await refused('certificate forget', /then add --lost-key/, elsewhere)
    await refused(set(), /Certificates cannot be stored at this node/, elsewhere)
    assert.match(await printed(`certificate show ${at}`), /supplied by the owner/)

    const forgotten = await printed('certificate forget --lost-key', elsewhere)
    assert.match(forgotten, /^Deleted 1 cert.*\nOwners must supply these again: shop\.example\.com\.$/s)
    await good(set(), elsewhere)
    assert.deepEqual(await database.column('select next_at > now() from certificate_order'), [true])
    await refused('certificate forget --lost-key', /nothing is lost/, elsewhere)
  })
})

describe('links that let somebody in', () => {
  const somebody = {
    password: 'correct horse',
    signedIn: null,
    checkPassword: async () => assert.fail('nobody has a login yet'),
  }
  const offer = (token: string) => readLink(pool, token, systemClock.nowMs())
  const use = (token: string, email: string | null) =>
    useLink(pool, DEFAULT_PLANS, token, { ...somebody, email }, systemClock.nowMs())
  const linkOf = async (args: string) => {
    const { url } = await good(args)
    return /^https:\/\/render\.example\.com\/welcome#(pp_in_.+)$/.exec(String(url))?.[1] ?? ''
  }

  it('last from now on by the clock of the database, whatever the machine thinks', async (t) => {
    const truly = Date.now
    t.mock.method(Date, 'now', () => truly() - 30 * 86_400_000)
    const token = await linkOf('account invite --email early@example.com --plan pro')
    t.mock.restoreAll()
    const days = (Date.parse((await offer(token)).expires_at) - Date.now()) / 86_400_000
    assert(days > 6.9 && days <= 7, `${days} days`)
  })

  it('account invite, for an owner or an operator; reset-link; set-role', async () => {
    const isOperator = (email: string) =>
      database.column('select is_operator from person where email = $1', email)
    await use(await linkOf('account invite --email guest@example.com --plan pro'), null)
    assert.deepEqual(await isOperator('guest@example.com'), [false])
    await use(await linkOf('account invite --email boss@example.com --plan pro --operator'), null)
    assert.deepEqual(await isOperator('boss@example.com'), [true])
    await refused('account invite --email boss@example.com --plan pro', /already/)

    const { kind, email } = await offer(await linkOf('account reset-link --email boss@example.com'))
    assert.deepEqual([kind, email], ['reset', 'boss@example.com'])
    await refused('account reset-link --email nobody@example.com', /^Account not found$/)

    assert.equal((await good('account set-role --email boss@example.com --role owner'))['role'], 'owner')
    await good('account set-role --email boss@example.com --role operator')
    await refused('account set-role --email boss@example.com --role king', /must be owner or operator/)
  })

  it('the first account: a link with the largest plan for as long as no operator can sign in, each start a new one', async () => {
    const line = () => firstAccountLine(pool, DEFAULT_PLANS, systemClock, 'http://127.0.0.1:3000')
    assert.equal(await line(), null)
    await pool.query('update person set password_hash = null')
    const token = async () => /http:\/\/127\.0\.0\.1:3000\/welcome#(\S+)/.exec((await line())!)![1]!
    const [older, newer] = [await token(), await token()]
    await assert.rejects(offer(older), { code: 'link_not_found' })
    const { account, person } = await use(newer, 'first@example.com')
    const { rows } = await pool.query('select plan from account where id = $1', [account])
    assert.deepEqual(rows, [{ plan: 'enterprise' }])
    assert.equal((await findPersonById(pool, person)).is_operator, true)
    assert.equal(await line(), null)
    await setOperator(pool, person, false)
    assert.notEqual(await line(), null)
  })

  it('where single sign-on is the only way, no link is made: a group or a command makes the first operator', async () => {
    const sso = { issuer: 'https://id.example', clientId: 'a', clientSecret: 'b', name: 'Acme', isOnly: true }
    await pool.query('update person set is_operator = false')
    assert.match((await firstOperatorLine(pool, { ...sso, operatorGroup: 'admins' }))!, /the group "admins"$/)
    assert.match((await firstOperatorLine(pool, { ...sso, operatorGroup: null }))!, /person set-operator/)
    await refused('account first-link', /^PREPAINT_OIDC_ONLY=1 allows no passwords/, {
      PREPAINT_PUBLIC_URL: 'https://prepaint.example',
      PREPAINT_OIDC_ISSUER: sso.issuer,
      PREPAINT_OIDC_CLIENT_ID: sso.clientId,
      PREPAINT_OIDC_CLIENT_SECRET: sso.clientSecret,
      PREPAINT_OIDC_ONLY: '1',
    })
    const { rows } = await pool.query(
      `insert into person (email, is_operator) values ('sso@example.com', true) returning id`,
    )
    assert.notEqual(await firstOperatorLine(pool, { ...sso, operatorGroup: null }), null)
    await pool.query(`insert into sso_identity values ('https://id.example', 'x', $1, now(), now())`, [
      rows[0].id,
    ])
    assert.equal(await firstOperatorLine(pool, { ...sso, operatorGroup: null }), null)
  })
})
