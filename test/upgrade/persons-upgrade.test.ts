import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import type { AccountId, PersonId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { listKeys, revokeKeysOf } from '@prepaint/service/accounts/keys.ts'
import { removeMember, updateMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { removeOldSignIns } from '@prepaint/service/accounts/retention.ts'
import { createLink, readLink, useLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { hashPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { endSession, takeSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { SCHEMA } from '../../bin/node/schema.ts'
import { openTestDatabase } from '../support/database.ts'
import { signIn } from '../support/sign-in.ts'

const NOW_MS = Date.now()
const PASSWORD = 'correct horse'
const CLIENT = { address: '192.0.2.1', userAgent: 'Firefox' }

const { pool, connection, column } = await openTestDatabase({ empty: true })
const hashOf = (token: string) => createHash('sha256').update(token).digest()

/** The statements of 0.2.0. */
const startOldSession = (email: string, token: string) =>
  pool.query(
    `insert into sign_in_session (account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
     select id, $2, '192.0.2.1', 'Firefox', $3, $3, $3::timestamptz + interval '7 days' from account where email = $1`,
    [email, hashOf(token), new Date(NOW_MS)],
  )
const readOldSession = async (token: string) => {
  const { rows } = await pool.query<{ email: string; role: string }>(
    `select a.email, a.role from sign_in_session s join account a on a.id = s.account_id
      where s.token_hash = $1 and s.expires_at > $2`,
    [hashOf(token), new Date(NOW_MS)],
  )
  return rows
}
const oldPasswords = () => column('select email from account where password_hash is not null')

it('each account of 0.2.0 becomes an account and its owner; sessions, passwords and links go on', async () => {
  await migrate(connection, SCHEMA, silentLog(), '0001-schema.sql')
  const hash = await hashPassword(PASSWORD)
  await pool.query(
    `insert into account (email, plan, role, password_hash) values
       ('boss@example.com', 'enterprise', 'operator', $1), ('owner@example.com', 'pro', 'owner', $1),
       ('keys@example.com', 'agency', 'owner', null), ('team@example.com', 'agency', 'owner', $1)`,
    [hash],
  )
  await pool.query(
    `insert into api_key (account_id, name, key_hash, hint) select id, 'of 0.2.0', '\\x01', '' from account
      where email = 'owner@example.com'`,
  )
  await startOldSession('boss@example.com', 'pp_se_boss')
  await startOldSession('owner@example.com', 'pp_se_owner')
  const link = (token: string, kind: string, email: string | null, account: string | null) =>
    pool.query(
      `insert into sign_in_link (token_hash, kind, email, plan, role, account_id, expires_at)
       select $1, $2, $3, case when $3::text is not null then 'pro' end, 'owner', (select id from account where email = $4),
              $5::timestamptz + interval '1 hour'`,
      [hashOf(token), kind, email, account, new Date(NOW_MS)],
    )
  await link('pp_in_guest', 'invitation', 'guest@example.com', null)
  await link('pp_in_reset', 'reset', null, 'keys@example.com')

  await migrate(connection, SCHEMA, silentLog())

  const { rows } = await pool.query(
    `select p.email, p.is_operator, m.role, coalesce(a.name, a.email) as name
       from person p join member m on m.person_id = p.id join account a on a.id = m.account_id order by p.id`,
  )
  const owner = (email: string, isOperator = false) => ({
    ...{ email, is_operator: isOperator, role: 'owner', name: email },
  })
  assert.deepEqual(rows, [
    owner('boss@example.com', true),
    owner('owner@example.com'),
    owner('keys@example.com'),
    owner('team@example.com'),
  ])
  const found = await takeSession(pool, 'pp_se_owner', NOW_MS)
  assert.partialDeepStrictEqual(found?.session, { email: 'owner@example.com', entry: { role: 'owner' } })
  const { entry, person } = found!.session
  assert(typeof entry === 'object')
  const keys = async () =>
    (await listKeys(pool, entry.account, NOW_MS)).map((key) => [key.created_by, key.state])
  assert.deepEqual(await keys(), [['owner@example.com', 'active']])
  await revokeKeysOf(pool, entry.account, person, NOW_MS)
  assert.deepEqual(await keys(), [['owner@example.com', 'revoked']], 'keys go with the owner, if asked')
  const { session } = await signIn(pool, { email: 'boss@example.com', password: PASSWORD }, CLIENT, NOW_MS)
  assert.equal(session.isOperator, true)

  assert.equal((await readLink(pool, 'pp_in_guest', NOW_MS)).email, 'guest@example.com')
  const use = { email: null, password: PASSWORD, signedIn: null, checkPassword: async () => assert.fail() }
  for (const token of ['pp_in_guest', 'pp_in_reset']) {
    await useLink(pool, DEFAULT_PLANS, token, use, NOW_MS)
    await assert.rejects(useLink(pool, DEFAULT_PLANS, token, use, NOW_MS), { code: 'link_not_found' })
  }
  for (const email of ['guest@example.com', 'keys@example.com']) {
    await signIn(pool, { email, password: PASSWORD }, CLIENT, NOW_MS)
  }
})

it('nodes of 0.2.0 beside this version: their sessions go on and end everywhere; passwords that they set count here', async () => {
  assert.deepEqual(await readOldSession('pp_se_boss'), [{ email: 'boss@example.com', role: 'owner' }])
  assert.deepEqual(await oldPasswords(), [], 'they sign nobody in')

  await pool.query('delete from sign_in_session where token_hash = $1', [hashOf('pp_se_boss')])
  assert.equal(await takeSession(pool, 'pp_se_boss', NOW_MS), null, 'signed out there')

  const { session } = (await takeSession(pool, 'pp_se_owner', NOW_MS))!
  await endSession(pool, session.person, session.id)
  assert.deepEqual(await readOldSession('pp_se_owner'), [], 'signed out here')

  const before = await signIn(pool, { email: 'owner@example.com', password: PASSWORD }, CLIENT, NOW_MS)
  const hash = await hashPassword('another horse')
  await pool.query(`update account set password_hash = $1 where email = 'owner@example.com'`, [hash])
  assert.deepEqual(await oldPasswords(), [])
  assert.equal(await takeSession(pool, before.token, NOW_MS), null, 'a new password ends sessions')
  const asked = { email: 'owner@example.com', password: 'another horse' }
  assert.equal((await signIn(pool, asked, CLIENT, NOW_MS)).session.email, 'owner@example.com')
})

it('a session that has expired in one table and goes on in the other is not ended by its removal', async () => {
  const signedIn = async () => {
    const asked = { email: 'team@example.com', password: PASSWORD }
    const { token } = await signIn(pool, asked, CLIENT, NOW_MS)
    await startOldSession('team@example.com', token)
    return token
  }
  const expire = (table: 'session' | 'sign_in_session', token: string) =>
    pool.query(`update ${table} set expires_at = now() - interval '2 days' where token_hash = $1`, [
      hashOf(token),
    ])
  const here = await signedIn()
  const there = await signedIn()
  await expire('sign_in_session', here)
  await expire('session', there)
  assert.equal(await removeOldSignIns(pool), 2)
  assert.notEqual(await takeSession(pool, here, NOW_MS), null)
  assert.equal((await readOldSession(there)).length, 1)
})

it('a member who loses rights is signed out of nodes of 0.2.0, and goes on at newer ones; it starts no session there', async () => {
  const [account] = await column<AccountId>(`select id from account where email = 'team@example.com'`)
  const byOperator = { member: null, role: 'owner' } as const
  const asked = { email: 'team@example.com', password: PASSWORD }
  const join = async (email: string, session: string) => {
    const person = await addPerson(pool, { email, password: null })
    await pool.query(`insert into member (account_id, person_id, role) values ($1, $2, 'owner')`, [
      account,
      person,
    ])
    const [id] = await column<number>(
      'select id from member where account_id = $1 and person_id = $2',
      account,
      person,
    )
    await startOldSession('team@example.com', session)
    await pool.query(
      `insert into session (person_id, account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
       select $1, account_id, token_hash, address, user_agent, created_at, used_at, expires_at
         from sign_in_session where token_hash = $2`,
      [person, hashOf(session)],
    )
    return id!
  }
  const lowered = await join('lowered@example.com', 'pp_se_lowered')
  const removed = await join('removed@example.com', 'pp_se_removed')
  const [mine] = await column<number>(
    `select m.id from member m join person p on p.id = m.person_id where p.email = 'team@example.com'`,
  )
  const { token } = await signIn(pool, asked, CLIENT, NOW_MS)
  await startOldSession('team@example.com', token)
  const isSignedInThere = async (session: string) => (await readOldSession(session)).length === 1

  await updateMember(pool, account!, byOperator, lowered, { role: 'viewer' })
  const how = { revokesKeys: false, nowMs: NOW_MS }
  await removeMember(pool, account!, byOperator, removed, how)
  assert.deepEqual(await Promise.all(['pp_se_lowered', 'pp_se_removed', token].map(isSignedInThere)), [
    false,
    false,
    true,
  ])
  for (const session of ['pp_se_lowered', 'pp_se_removed']) {
    assert.notEqual(await takeSession(pool, session, NOW_MS), null, 'it goes on here, with the rights of now')
  }

  await startOldSession('team@example.com', 'pp_se_second')
  assert.equal(await isSignedInThere('pp_se_second'), true)
  await join('heir@example.com', 'pp_se_heir')
  for (const change of [
    () => updateMember(pool, account!, byOperator, mine!, { role: 'admin' }),
    () => removeMember(pool, account!, byOperator, mine!, how),
  ]) {
    await change()
    await startOldSession('team@example.com', 'pp_se_third')
    assert.deepEqual(await Promise.all([token, 'pp_se_third'].map(isSignedInThere)), [false, false])
  }
})

it('a reset link of a node of 0.2.0 works at either, once; such a node makes no link for a first account', async () => {
  const [account] = await column<AccountId>(`select id from account where email = 'owner@example.com'`)
  const [person] = await column<PersonId>(`select id from person where email = 'owner@example.com'`)
  const insert = (token: string, kind: string) =>
    pool.query(
      `insert into sign_in_link (token_hash, kind, plan, account_id, expires_at)
       values ($1, $2, case $2 when 'first' then 'pro' end, case $2 when 'reset' then $3::integer end, $4)`,
      [hashOf(token), kind, account, new Date(NOW_MS + 3_600_000)],
    )
  const there = () => column<Buffer>('select token_hash from sign_in_link')
  await insert('pp_in_first', 'first')
  assert.deepEqual(await there(), [])

  const use = { email: null, password: PASSWORD, signedIn: null, checkPassword: async () => assert.fail() }
  await insert('pp_in_here', 'reset')
  assert.equal((await readLink(pool, 'pp_in_here', NOW_MS)).email, 'owner@example.com')
  await useLink(pool, DEFAULT_PLANS, 'pp_in_here', use, NOW_MS)
  assert.deepEqual(await there(), [], 'used here')

  await insert('pp_in_there', 'reset')
  await pool.query('delete from sign_in_link where token_hash = $1', [hashOf('pp_in_there')])
  await assert.rejects(readLink(pool, 'pp_in_there', NOW_MS), { code: 'link_not_found' }, 'used there')

  await insert('pp_in_older', 'reset')
  await createLink(pool, DEFAULT_PLANS, { kind: 'reset', person: person! }, NOW_MS)
  assert.deepEqual(await there(), [], 'a newer link ends the one before')
})
