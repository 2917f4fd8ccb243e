import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { beforeEach, describe, it } from 'node:test'
import { AppError } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { emptyTables, openTestDatabase, waitingForLocks } from '../../../../../test/support/database.ts'
import { addAccountOf, createAccount, findAccountsByEmail, setSuspended } from '../accounts.ts'
import { inviteToNewAccount } from '../invitations.ts'
import { addPerson, createPerson, findPersonByEmail } from '../persons.ts'
import { countedAttempt, FAILURE_WINDOW_MS, MOST_FAILURES } from './attempts.ts'
import { createLink, readLink, useLink } from './links.ts'
import {
  changePassword,
  checkCredentials,
  hashPassword,
  setPassword,
  verifyPassword,
  whyNoSession,
} from './passwords.ts'
import { listSessions, SESSION_LIMIT, startSession, takeSession } from './sessions.ts'

const PASSWORD = 'correct horse'
const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const database = await openTestDatabase()
const { pool } = database

describe('sessions', async () => {
  const CLIENT = { address: '192.0.2.7', userAgent: 'Firefox' }
  const DAY_MS = 86_400_000

  beforeEach(() => emptyTables(pool, 'account, person cascade'))

  /** A hash takes a tenth of a second. */
  const HASH = await hashPassword(PASSWORD)
  async function owner(email = 'owner@example.com', hash: string | null = HASH) {
    const { id: account } = await createAccount(pool, DEFAULT_PLANS, { email, plan: 'pro', password: null })
    await pool.query('update person set password_hash = $2 where email = $1', [email, hash])
    return { account, person: (await findPersonByEmail(pool, email)).id }
  }
  /** What a sign-in does for a person without a second factor. */
  async function start(email = 'owner@example.com', password = PASSWORD) {
    const { id, hash } = await checkCredentials(pool, { email, password }, silentLog())
    const started = await startSession(pool, id, CLIENT, NOW, { passwordHash: hash })
    if (started === null) throw await whyNoSession(pool, id)
    return started
  }
  const read = (token: string, atMs = NOW) => takeSession(pool, token, atMs)
  const reset = (person: PersonId, password: string): Promise<void> =>
    transaction(pool, (client) => setPassword(client, person, password))
  const wrongCredentials = { code: 'wrong_credentials' }

  it('the token is random and stored only as its hash; one that is changed, or none, finds nothing', async () => {
    const { account } = await owner()
    const [{ session, token }, second] = [await start('Owner@Example.com'), await start()]
    assert.partialDeepStrictEqual(session.entry, { account, role: 'owner', domains: null })
    assert.deepEqual(await read(token), { session, renewed: false })
    assert.match(token, /^pp_se_[\w-]{43}$/)
    assert.notEqual(token, second.token)
    const { rows } = await pool.query('select s::text as row from session s')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
    for (const wrong of [`${token}x`, `~${token}`, '', 'x'.repeat(10_000)])
      assert.equal(await read(wrong), null)
  })

  it('a wrong password, an unknown e-mail, a person without a password: the same refusal after one hash', async (t) => {
    await owner()
    await owner('none@example.com', null)
    const scrypt = t.mock.method(crypto, 'scrypt')
    syncBuiltinESMExports()
    t.after(() => {
      scrypt.mock.restore()
      syncBuiltinESMExports()
    })
    for (const [at, name] of ['owner', 'nobody', 'none'].entries()) {
      await assert.rejects(start(`${name}@example.com`, 'wrong horse'), wrongCredentials)
      assert.equal(scrypt.mock.callCount(), at + 1, name)
    }
    await assert.rejects(start('a\0b'), wrongCredentials)
  })

  it('nobody signs in to a suspended account, which only a client that knows the password is told', async () => {
    const { account: id, person } = await owner()
    const { token } = await start()
    await setSuspended(pool, id, true, NOW)
    assert.equal(await read(token), null)
    await assert.rejects(start(), { code: 'account_suspended' })
    await assert.rejects(start('owner@example.com', 'wrong horse'), wrongCredentials)
    assert.equal(await startSession(pool, person, CLIENT, NOW), null)
    await setSuspended(pool, id, false, NOW)
    const again = await startSession(pool, person, CLIENT, NOW)
    await pool.query('update account set suspended_at = now()')
    await assert.rejects(read(again!.token), { code: 'account_suspended' }, 'it outlived the suspension')
  })

  it('a session ends: a week without use', async () => {
    await owner()
    const [used, unused] = [await start(), await start()]
    assert.notEqual(await read(used.token, NOW + 7 * DAY_MS - 1), null)
    assert.equal(await read(unused.token, NOW + 7 * DAY_MS), null)
  })

  it('a session ends: thirty days, even if it is used every day; it is renewed at most once a day', async () => {
    await owner()
    const { token } = await start()
    const found = []
    for (let hours = 12; hours <= 30 * 24; hours += 12) {
      found.push((await read(token, NOW + hours * 3_600_000))?.renewed)
    }
    const each = Array.from({ length: 59 }, (_, at) => at % 2 === 1)
    assert.deepEqual(found, [...each, undefined])
  })

  // Proves decided "Sessions"
  it('a person has 50 sessions at most: the oldest ends when one more begins, also if many begin at once', async () => {
    const { person } = await owner()
    const begin = () => startSession(pool, person, CLIENT, NOW, { way: 'passkey', hasSecondFactor: true })
    const first = await begin()
    await Promise.all(Array.from({ length: SESSION_LIMIT }, begin))
    assert.equal(await read(first!.token), null)
    const sessions = await listSessions(pool, person, null, NOW)
    assert.equal(sessions.length, SESSION_LIMIT)
    assert.partialDeepStrictEqual(sessions[0], { way: 'passkey', second_factor: true })
  })

  it('a session by single sign-on ends after 12 hours', async () => {
    const { person } = await owner()
    const started = await startSession(pool, person, CLIENT, NOW, { way: 'sso' })
    const HOUR_MS = 3_600_000
    assert.notEqual(await read(started!.token, NOW + 12 * HOUR_MS - 1), null)
    assert.equal(await read(started!.token, NOW + 12 * HOUR_MS), null)
  })

  it('a password of 0.2.0 goes on; it gets the present form when its person signs in, also at several places at once', async () => {
    const { person } = await owner('owner@example.com', FOREIGN)
    const all = await Promise.all(
      Array.from({ length: 4 }, () => start('owner@example.com', 'correct horse fine')),
    )
    for (const { token } of all) assert.notEqual(await read(token), null)
    const { rows } = await pool.query('select password_hash as hash from person where id = $1', [person])
    assert.match(rows[0].hash, /^scrypt:14:16:1:/)
    await start('owner@example.com', 'correct horse ﬁne')
    await assert.rejects(start('owner@example.com', 'correct horse fin'), wrongCredentials)
  })

  it('a session that starts while the password is set anew does not outlive it', async () => {
    const { person } = await owner()
    for (let round = 0; round < 2; round++) {
      const [old, next] = round % 2 === 0 ? [PASSWORD, 'another horse'] : ['another horse', PASSWORD]
      const [, ...started] = await Promise.allSettled([
        reset(person, next),
        ...Array.from({ length: 4 }, () => start('owner@example.com', old)),
      ])
      for (const each of started) {
        if (each.status === 'fulfilled') assert.equal(await read(each.value.token), null)
        else assert.equal(each.reason.code, 'wrong_credentials')
      }
    }
  })

  it('of two changes of the password at once, one wins', async () => {
    await owner()
    const { session } = await start()
    const change = (next: string) => changePassword(pool, session, { current: PASSWORD, next }, NOW)
    const both = await Promise.allSettled([change('first horse'), change('second horse')])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  })
})

describe('failed attempts', () => {
  beforeEach(() => database.pool.query('truncate rate'))

  const wrong = () => Promise.reject(new AppError('wrong_credentials'))
  const attempt = (tryIt: () => Promise<unknown>, email: string, address: string, atMs = NOW) =>
    countedAttempt(database.pool, { email, address }, atMs, 'wrong_credentials', tryIt)
  const fail = (email: string, address: string, atMs = NOW) =>
    assert.rejects(attempt(wrong, email, address, atMs), { code: 'wrong_credentials' })
  /** Whether somebody would be let in, without anything of it being counted. */
  const check = (email: string, address: string, atMs = NOW) =>
    attempt(() => Promise.reject(new AppError('account_suspended')), email, address, atMs).catch((error) => {
      if (error.code !== 'account_suspended') throw error
    })
  const refused = { code: 'too_many_failures' }

  for (const [kind, email, address, free] of [
    ['pair', () => 'a@example.com', () => '192.0.2.1', ['b@example.com', '192.0.2.1']],
    ['address', (at: number) => `user-${at}@example.com`, () => '192.0.2.1', ['x@example.com', '192.0.2.2']],
    ['person', () => 'a@example.com', (at: number) => `2001:db8::${at}`, ['b@example.com', '192.0.2.1']],
  ] as const) {
    it(`${MOST_FAILURES[kind]} failures are the most of one ${kind}`, async () => {
      for (let at = 0; at < MOST_FAILURES[kind]; at++) {
        await check(email(at), address(at))
        await fail(` ${email(at).toUpperCase()}`, address(at))
      }
      await assert.rejects(check(email(1_000), address(1_000)), refused)
      await check(free[0], free[1])
    })
  }

  it('is forgiven after a quarter of an hour; the answer says when', async () => {
    for (let at = 0; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1', NOW + at)
    const refusal = await check('a@example.com', '192.0.2.1', NOW + 60_000).catch((error: unknown) => error)
    assert(refusal instanceof AppError)
    assert.equal(refusal.headers['Retry-After'], String(14 * 60))
    await assert.rejects(check('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS - 1), refused)
    await check('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS)
  })

  it('a success takes its own count back, and nothing of the failures before', async () => {
    for (let at = 1; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1')
    for (let at = 0; at < 3; at++) await attempt(async () => 'in', 'a@example.com', '192.0.2.1')
    await fail('a@example.com', '192.0.2.1')
    await assert.rejects(check('a@example.com', '192.0.2.1'), refused)
    await check('a@example.com', '192.0.2.2')
  })

  // Proves decided "Wrong passwords"
  it('of many at once no more are looked at than may fail', async () => {
    let looked = 0
    const look = () => {
      looked++
      return wrong()
    }
    const attempts = Array.from({ length: 60 }, () => attempt(look, 'a@example.com', '192.0.2.1'))
    const codes = (await Promise.allSettled(attempts)).map((each) => 'reason' in each && each.reason.code)
    assert.equal(looked, MOST_FAILURES.pair)
    assert.equal(codes.filter((code) => code === 'too_many_failures').length, 60 - MOST_FAILURES.pair)
    // Those who were refused count for nobody: one address does not lock an owner out everywhere.
    const { rows } = await database.pool.query('select distinct cardinality(moments) as failures from rate')
    assert.deepEqual(rows, [{ failures: MOST_FAILURES.pair }])
  })
})

describe('links', async () => {
  const HOUR = 3_600_000

  beforeEach(() => emptyTables(pool, 'account, person, link, invitation cascade'))

  type NewLink = Parameters<typeof createLink>[2] | { kind: 'invitation'; email: string }
  const make = async (link: NewLink) => {
    if (link.kind !== 'invitation') return (await createLink(pool, DEFAULT_PLANS, link, NOW)).token
    const asked = { email: link.email, plan: 'pro', isOperator: false, invitedBy: 'boss@example.com' }
    return (await inviteToNewAccount(pool, DEFAULT_PLANS, asked, NOW)).link.token
  }
  const read = (token: string, atMs = NOW) => readLink(pool, token, atMs)
  const check = (credentials: { email: string; password: string }) =>
    checkCredentials(pool, credentials, silentLog())
  const use = (
    token: string,
    email: string | null = null,
    { password = PASSWORD, atMs = NOW, checkPassword = check } = {},
  ) => useLink(pool, DEFAULT_PLANS, token, { email, password, signedIn: null, checkPassword }, atMs)
  const invitation = (email = 'guest@example.com'): NewLink => ({ kind: 'invitation', email })
  const open = async (email: string, isOperator = false) => {
    await createAccount(pool, DEFAULT_PLANS, { email, plan: 'pro', isOperator, password: 'forgotten horse' })
    return (await findPersonByEmail(pool, email)).id
  }
  async function hasPassword(email: string): Promise<boolean> {
    const { rows } = await pool.query('select password_hash from person where email = $1', [email])
    return verifyPassword(PASSWORD, rows[0].password_hash)
  }
  const gone = { code: 'link_not_found' }

  it('the first link lets nobody in once there is an operator; a newer one ends the one before it', async () => {
    const older = await make({ kind: 'first', plan: 'pro' })
    const newer = await make({ kind: 'first', plan: 'pro' })
    await assert.rejects(read(older), gone)
    await read(newer)
    await open('boss@example.com', true)
    await assert.rejects(read(newer), gone)
    await assert.rejects(use(newer, 'late@example.com'), gone)
  })

  it('an invitation makes the account that was offered, whatever e-mail is given; it is known only by its hash', async () => {
    const token = await make(invitation('Guest@Example.com'))
    const { rows } = await pool.query('select l::text as row from link l')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
    assert.equal((await read(token)).email, 'guest@example.com')
    await use(token, 'other@example.com')
    assert.equal((await findPersonByEmail(pool, 'guest@example.com')).is_operator, false)
    assert.equal((await findAccountsByEmail(pool, 'guest@example.com')).length, 1)
    assert(await hasPassword('guest@example.com'))
    await assert.rejects(findPersonByEmail(pool, 'other@example.com'), { code: 'person_not_found' })
  })

  it('an invitation is not made for somebody who has an account, and makes none twice', async () => {
    const token = await make(invitation())
    await open('guest@example.com')
    await assert.rejects(make(invitation()), { code: 'account_exists' })
    await assert.rejects(use(token), { code: 'wrong_credentials' })
    const right = use(token, null, { password: 'forgotten horse' })
    await assert.rejects(right, { code: 'account_exists' })
  })

  it('a reset sets the password and ends all sessions', async () => {
    const id = await open('owner@example.com')
    await startSession(pool, id, { address: '', userAgent: '' }, NOW)
    const token = await make({ kind: 'reset', person: id })
    assert.equal((await read(token)).email, 'owner@example.com')
    assert.partialDeepStrictEqual(await use(token), { person: id, account: null })
    assert(await hasPassword('owner@example.com'))
    assert.equal((await pool.query('select from session')).rowCount, 0)
  })

  it('a new account that is accepted while another of the same address and name is made: one of them', async () => {
    const token = await make(invitation())
    const person = await createPerson(pool, { email: 'guest@example.com', passwordHash: null })
    const signedIn = { person: person!, email: 'guest@example.com' }
    const other = await pool.connect()
    await other.query('begin')
    const same = { email: 'guest@example.com', password: null }
    await addAccountOf(other, DEFAULT_PLANS, await addPerson(other, same), { ...same, plan: 'pro' })
    const asked = { email: null, password: null, signedIn, checkPassword: check }
    const accepting = useLink(pool, DEFAULT_PLANS, token, asked, NOW)
    accepting.catch(() => {})
    await until('it waits', async () => (await waitingForLocks(pool)) === 1)
    await other.query('commit')
    other.release()
    await assert.rejects(accepting, { code: 'account_exists' })
    assert.equal((await findAccountsByEmail(pool, 'guest@example.com')).length, 1)
  })

  it('who accepts with a password that is reset meanwhile neither joins nor signs in', async () => {
    const token = await make(invitation())
    const guest = await createPerson(pool, {
      email: 'guest@example.com',
      passwordHash: await hashPassword(PASSWORD),
    })
    const accepting = use(token, null, {
      async checkPassword(credentials) {
        const checked = await checkCredentials(pool, credentials, silentLog())
        await transaction(pool, (each) => setPassword(each, guest!, 'another horse'))
        return checked
      },
    })
    await assert.rejects(accepting, { code: 'wrong_credentials' })
    assert.deepEqual(await findAccountsByEmail(pool, 'guest@example.com'), [])
    await use(token, null, { password: 'another horse' })
  })

  it('works once, of two at once for one of them; a token that is none', async () => {
    const token = await make(invitation())
    const both = await Promise.allSettled([use(token), use(token)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await assert.rejects(use(token), gone)
    for (const none of [token, '', 'pp_in_', 'x'.repeat(10_000)]) await assert.rejects(read(none), gone)
  })

  it('ends: the first after a day, an invitation after a week, a reset after an hour', async () => {
    const id = await open('owner@example.com')
    const lives: [NewLink, number][] = [
      [{ kind: 'first', plan: 'pro' }, 24 * HOUR],
      [invitation(), 7 * 24 * HOUR],
      [{ kind: 'reset', person: id }, HOUR],
    ]
    for (const [link, life] of lives) {
      const token = await make(link)
      await read(token, NOW + life - 1)
      await assert.rejects(read(token, NOW + life), gone)
      await assert.rejects(use(token, 'late@example.com', { atMs: NOW + life }), gone)
    }
  })
})

// Made by @better-auth/utils 0.5.1 from a password with a ligature, which NFKC takes apart.
const FOREIGN =
  'e1705ba87328428481e1dee8439b7d92:fa5d302fe36f66daec9769663d74ab22e7fa6626780c7b38e65b120470ae5235afcbb97577824ad0175bd89d40c51db57aa9bd975643722fcccdb5517c71f39c'

it('reads hashes that better-auth wrote, which earlier versions used', async () => {
  assert.equal(await verifyPassword('correct horse ﬁne', FOREIGN), true)
  assert.equal(await verifyPassword('correct horse fine', FOREIGN), true)
  assert.equal(await verifyPassword('correct horse fin', FOREIGN), false)
})

it('writes the cost before salt and key, with a salt of its own each time; a stored value that is no hash matches nothing', async () => {
  const [first, second] = [await hashPassword('secret-one'), await hashPassword('secret-one')]
  assert.match(first, /^scrypt:14:16:1:[0-9a-f]{32}:[0-9a-f]{128}$/)
  assert.notEqual(first, second)
  assert.equal(await verifyPassword('secret-one', first), true)
  for (const broken of [
    '',
    ':',
    'salt:',
    'salt:zz',
    'plain text',
    'scrypt:14:16:1::',
    `scrypt:14:16:${FOREIGN}`,
  ])
    assert.equal(await verifyPassword('', broken), false)
})
