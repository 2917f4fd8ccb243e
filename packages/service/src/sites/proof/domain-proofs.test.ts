import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import type { AccountId, DomainId, DomainName, PersonId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import {
  emptyTables,
  invalidatedBy,
  openTestDatabase,
  waitingForLocks,
} from '../../../../../test/support/database.ts'
import { askForSubjects, bringForward, runDueTasks } from '../../../../../test/support/tasks.ts'
import { createAccount } from '../../accounts/accounts.ts'
import { askForOrders } from '../../certificates/orders/order-book.ts'
import { readServedCertificate } from '../../certificates/stored-certificate.ts'
import type { Mail, MailSender } from '../../mail/mailer.ts'
import { readKept } from '../../snapshot/kept-domains.ts'
import { createDomain, deleteDomain, moveDomain } from '../domain-changes.ts'
import { domainByHost } from '../domains.ts'
import { applyProofMode } from './ask-for-proof.ts'
import { DomainProofs, PROOF_CHECKS_AN_HOUR } from './domain-proofs.ts'
import { formerAccounts, removeOldFormers } from './former-names.ts'
import type { ProofLook } from './look-for-proof.ts'
import { ProofLetters } from './proof-letters.ts'
import { ProofLooks } from './proof-looks.ts'
import type { ProvenDomain } from './stored-proof.ts'

const DAY_MS = 86_400_000
const database = await openTestDatabase()
const { pool, column } = database
const SHOP = 'shop.example.com' as DomainName

const clock = { atMs: 0, nowMs: () => clock.atMs }
const view = () => ({ plans: DEFAULT_PLANS, nowMs: clock.atMs })
let accounts = 0
let one: AccountId
let two: AccountId
/** What every look finds. */
let look: ProofLook
let looks = 0
const newProofs = (speed = 1) =>
  new DomainProofs(
    pool,
    clock,
    async () => {
      looks++
      return look
    },
    speed,
  )
const proofs = newProofs()
const task = (mode: ProofMode = 'takeover', speed = 1) =>
  new ProofLooks(pool, newProofs(speed), clock, { mode, speed })

const missing = (site: Extract<ProofLook, { kind: 'missing' }>['site']): ProofLook => ({
  kind: 'missing',
  error: `not found, ${site}`,
  isRecordAbsent: true,
  site,
})
const FOUND: ProofLook = { kind: 'found', method: 'dns' }

async function newAccount(): Promise<AccountId> {
  const email = `owner-${++accounts}@example.com`
  return (await createAccount(pool, DEFAULT_PLANS, { email, plan: 'enterprise', password: null })).id
}

/** As the API does it. */
async function add(account: AccountId, proof: ProofMode = 'takeover', name = SHOP): Promise<ProvenDomain> {
  const input = { name, originUrl: 'https://origin.example.com', proof }
  const { id } = await createDomain(pool, account, input, view())
  await proofs.settle({ id, account, name })
  return { id, account, name }
}

async function proofOf(domain: ProvenDomain) {
  const { state, served, method, error, deadline } = await proofs.read(domain)
  return { state, served, method, error, deadline }
}

const isServed = async (name = SHOP) => (await domainByHost(pool, name, () => [])) !== null
const actionsOf = (account: AccountId) =>
  column<string>(
    `select action from audit_entry where account_id = $1 and action like 'domain.%' order by id`,
    account,
  )

beforeEach(async () => {
  await emptyTables(pool, 'domain, domain_former, task, rate, audit_entry cascade')
  clock.atMs = Date.now()
  look = missing('none')
  looks = 0
  one = await newAccount()
  two = await newAccount()
})

/** What is sent of the letters that were asked for. */
async function lettersSent(): Promise<Mail[]> {
  const sent: Mail[] = []
  const mailer: MailSender = {
    send: async (mail) => {
      sent.push(mail)
      return 'sent'
    },
  }
  await runDueTasks(pool, new ProofLetters(pool, mailer, 'https://prepaint.example', silentLog()))
  return sent.toSorted((a, b) => (a.to < b.to ? -1 : 1))
}

describe('letters to owners', () => {
  const lose = async () => {
    const domain = await add(one)
    look = FOUND
    await proofs.check(domain)
    look = missing('elsewhere')
    await proofs.check(domain)
    clock.atMs += DAY_MS
    return domain
  }
  const waiting = () => column<number>(`select failures from task where kind = 'proof-letter'`)

  it('are asked for in the transaction of what they tell: no node can die in between', async () => {
    const domain = await lose()
    await pool.query(`alter table task add constraint no_letters check (kind <> 'proof-letter')`)
    await assert.rejects(proofs.look(domain), /no_letters/)
    await pool.query('alter table task drop constraint no_letters')
    assert.equal((await proofOf(domain)).state, 'proven')
    await proofs.look(domain)
    assert.equal((await proofOf(domain)).state, 'lost')
    assert.deepEqual(await waiting(), [0])
    assert.equal((await lettersSent()).length, 1)
    assert.deepEqual(await waiting(), [])
  })

  it('are tried again while the mail server is away, for a day, and go to who is an owner then', async () => {
    await proofs.look(await lose())
    const away: MailSender = { send: async () => 'failed' }
    const letters = new ProofLetters(pool, away, 'https://prepaint.example', silentLog())
    await assert.rejects(runDueTasks(pool, letters), /did not take the letter/)
    await pool.query(`update task set lease = null, lease_until = null, failures = 1`)
    await pool.query(`update member set role = 'admin' where account_id = $1`, [one])
    assert.deepEqual(await lettersSent(), [])
    assert.deepEqual(await waiting(), [])
    await pool.query(`update member set role = 'owner' where account_id = $1`, [one])
    const person = (await column<PersonId>('select person_id from member where account_id = $1', one))[0]!
    const task = { kind: letters.name, key: '', accountId: one, lease: '' }
    const payload = { what: 'lost', domain: SHOP, person }
    await assert.rejects(letters.run({ ...task, payload, failures: 148 }), /did not take the letter/)
    assert.equal(await letters.run({ ...task, payload, failures: 149 }), null)
  })

  it('that the mail server refuses for good, and all where there is no e-mail, are left', async () => {
    const domain = await lose()
    await proofs.look(domain)
    const refusing: MailSender = { send: async () => 'refused' }
    await runDueTasks(pool, new ProofLetters(pool, refusing, 'https://prepaint.example', silentLog()))
    assert.deepEqual(await waiting(), [])
    look = FOUND
    await proofs.check(domain)
    look = missing('elsewhere')
    await proofs.check(domain)
    clock.atMs += DAY_MS
    await proofs.look(domain)
    assert.deepEqual(await waiting(), [0])
    await runDueTasks(pool, new ProofLetters(pool, null, '', silentLog()))
    assert.deepEqual(await waiting(), [])
  })
})

describe('a name that another account had', () => {
  // Proves decided "Proof of a domain"
  it('and that leads here is not served for a new account, until that has proven it', async () => {
    await add(one)
    assert.equal(await isServed(), true)
    await deleteDomain(pool, one, SHOP)
    look = missing('here')
    const taken = await add(two)
    const asked = { state: 'asked', served: false, method: null, error: 'not found, here', deadline: null }
    assert.deepEqual(await proofOf(taken), asked)
    assert.equal(await isServed(), false)
    assert.deepEqual(await readKept(pool, [SHOP]), [], 'the snapshot of edges has it as unknown')
    look = FOUND
    const announced = await invalidatedBy(database, () => proofs.check(taken))
    assert.deepEqual(announced.slice(0, 1), [{ host: SHOP }])
    assert.deepEqual(await proofOf(taken), {
      ...asked,
      state: 'proven',
      served: true,
      method: 'dns',
      error: null,
    })
    assert.equal(await isServed(), true)
    assert.deepEqual(await actionsOf(two), ['domain.added', 'domain.proven'])
  })

  it('is free for the account that had it, which is not asked', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    look = missing('here')
    const again = await add(one)
    assert.deepEqual((await proofOf(again)).state, 'not-asked')
    assert.equal(looks, 0)
  })

  it('is free for the account that had it, after another that never was served', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    look = missing('here')
    await add(two)
    await deleteDomain(pool, two, SHOP)
    assert.deepEqual(await formerAccounts(pool, SHOP), [one])
    assert.equal((await proofOf(await add(one))).state, 'not-asked')
  })

  it('and that leads elsewhere, nowhere, or where nothing answers, is served at once', async () => {
    await add(one)
    for (const [site, before, owner] of [
      ['elsewhere', one, two],
      ['none', two, one],
      ['silent', one, two],
    ] as const) {
      await deleteDomain(pool, before, SHOP)
      look = missing(site)
      assert.deepEqual(await proofOf(await add(owner)), {
        ...{ state: 'not-asked', served: true, method: null, error: null, deadline: null },
      })
      assert.equal(await isServed(), true)
    }
  })

  it('is not served while no name server says where it leads, and looked at every minute', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    look = missing('unknown')
    const taken = await add(two)
    assert.equal((await proofOf(taken)).served, false)
    look = missing('elsewhere')
    await bringForward(pool, 60_000)
    await runDueTasks(pool, task())
    assert.equal((await proofOf(taken)).state, 'not-asked')
    assert.equal(await isServed(), true)
    await bringForward(pool, 30 * DAY_MS)
    await runDueTasks(pool, task())
    assert.equal(looks, 2, 'nothing is looked for any more')
  })

  it('is asked about for 400 days, also when the account is deleted', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    await pool.query('delete from account where id = $1', [one])
    look = missing('here')
    const taken = await add(two)
    assert.equal((await proofOf(taken)).state, 'asked')
    await deleteDomain(pool, two, SHOP)
    await pool.query(`update domain_former set ended_at = now() - interval '399 days 23 hours'`)
    assert.equal(await removeOldFormers(pool), 0)
    const again = await add(two)
    assert.equal((await proofOf(again)).state, 'asked')
    await deleteDomain(pool, two, SHOP)
    await pool.query(`update domain_former set ended_at = now() - interval '400 days 1 second'`)
    assert.equal((await proofOf(await add(two))).state, 'not-asked')
    assert.equal(await removeOldFormers(pool), 1)
  })

  it('is remembered with its addresses, if it led here', async () => {
    const { id } = await add(one)
    await pool.query(
      `insert into dns_look (domain_id, state, addresses) values ($1, 'reaches-us', '{192.0.2.7}')`,
      [id],
    )
    await deleteDomain(pool, one, SHOP)
    assert.deepEqual(await column('select addresses from domain_former'), [['192.0.2.7']])
    const { id: again } = await add(one)
    await pool.query(
      `insert into dns_look (domain_id, state, addresses) values ($1, 'elsewhere', '{192.0.2.8}')`,
      [again],
    )
    await deleteDomain(pool, one, SHOP)
    assert.deepEqual(await column('select addresses from domain_former'), [[]])
  })

  it('is not asked about where proofs are off', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    look = missing('here')
    assert.equal((await proofOf(await add(two, 'off'))).state, 'not-asked')
  })
})

describe('where a proof is required', () => {
  const required = (speed = 1) => applyProofMode(pool, { mode: 'required', nowMs: clock.atMs, speed })

  it('a new domain is not served, gets no certificate and is looked for by the task', async () => {
    const domain = await add(one, 'required')
    assert.deepEqual([(await proofOf(domain)).served, await isServed(), looks], [false, false, 0])
    await pool.query(
      `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
       values ($1, 'own', 'chain', '\\x00', now(), now() + interval '1 day')`,
      [domain.id],
    )
    assert.equal(await readServedCertificate(pool, SHOP), null)
    const orders = async () => {
      await askForOrders(pool, { names: null, nowMs: clock.atMs })
      return column(`select key from task where kind = 'certificate-order'`)
    }
    assert.deepEqual(await orders(), [])
    look = FOUND
    await bringForward(pool, 600_000)
    await runDueTasks(pool, task())
    assert.equal(await isServed(), true)
    assert.notEqual(await readServedCertificate(pool, SHOP), null)
    assert.deepEqual(await orders(), [String(domain.id)])
    assert.deepEqual(await actionsOf(one), ['domain.added', 'domain.proven'])
  })

  it('existing domains are proven by live requests of the last 30 days; others are served for 30 days', async () => {
    const named = (name: string) => add(one, 'off', `${name}.example.com` as DomainName)
    const live = await named('live')
    const people = await named('people')
    const old = await named('old')
    const front = await named('front')
    const seen = (domain: ProvenDomain, way: string, days: number) =>
      pool.query(`insert into integration_way values ($1, $2, $3, $3, 'Googlebot', '/', null, null)`, [
        domain.id,
        way,
        new Date(clock.atMs - days * DAY_MS),
      ])
    const visited = (domain: ProvenDomain) =>
      pool.query(
        `insert into traffic_folded_day (domain_id, day, search_visits, pages, hits, hourly_pages, hourly_hits, lines)
         values ($1, $2, 0, 0, 0, '{}', '{}', '{}')`,
        [domain.id, new Date(clock.atMs - DAY_MS)],
      )
    await seen(live, 'proxy', 29)
    await seen(old, 'proxy', 31)
    await seen(front, 'middleware', 1)
    await visited(people)
    await visited(front)
    await required()
    const deadline = new Date(clock.atMs + 30 * DAY_MS).toISOString()
    const byTraffic = { state: 'proven', served: true, method: 'traffic', error: null, deadline: null }
    const asked = { state: 'asked', served: true, method: null, error: null, deadline }
    assert.deepEqual(await proofOf(live), byTraffic)
    assert.deepEqual(await proofOf(people), byTraffic)
    assert.deepEqual(await proofOf(old), asked)
    assert.deepEqual(await proofOf(front), asked)
    clock.atMs += DAY_MS
    await required()
    assert.deepEqual(await proofOf(old), asked, 'a second start changes nothing')
    assert.equal((await actionsOf(one)).filter((action) => action === 'domain.proven').length, 2)
  })

  it('the owners of existing domains are told once, all domains of an account together', async () => {
    for (const name of ['a', 'b']) await add(one, 'off', `${name}.example.com` as DomainName)
    await add(two, 'off')
    const looks = task('required', 10)
    await looks.applyMode()
    await looks.applyMode()
    assert.equal((await column(`select key from task where kind = 'proof-letter'`)).length, 2)
    const until = new Date(clock.atMs + 3 * DAY_MS).toISOString().slice(0, 16).replace('T', ' ')
    const letters = await lettersSent()
    assert.deepEqual(
      letters.map(({ to }) => to),
      [`owner-${accounts - 1}@example.com`, `owner-${accounts}@example.com`],
    )
    const [first, second] = letters
    assert.match(first!.text, new RegExp(`until ${until} UTC:\\s+a\\.example\\.com\\s+b\\.example\\.com\\s`))
    assert.match(second!.text, /\sshop\.example\.com\s/)
    assert.deepEqual(await lettersSent(), [])
  })

  it('a domain of before is served until its deadline, and then as soon as it is proven', async () => {
    const domain = await add(one, 'off')
    await required(10)
    clock.atMs += 3 * DAY_MS - 1
    await bringForward(pool, 3 * DAY_MS)
    await runDueTasks(pool, task('required', 10))
    assert.equal(await isServed(), true)
    clock.atMs += 1
    await bringForward(pool, 1)
    await runDueTasks(pool, task('required', 10))
    assert.equal(await isServed(), false)
    look = FOUND
    await proofs.check(domain)
    assert.equal(await isServed(), true)
  })

  it('and is required no longer, those that were asked are served', async () => {
    const domain = await add(one, 'required')
    await applyProofMode(pool, { mode: 'takeover', nowMs: clock.atMs, speed: 1 })
    assert.deepEqual([(await proofOf(domain)).state, await isServed()], ['not-asked', true])
  })

  it('and is required no longer, a name that another account had is not served where it leads here', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    const domain = await add(two, 'required')
    await applyProofMode(pool, { mode: 'takeover', nowMs: clock.atMs, speed: 1 })
    look = missing('here')
    await proofs.check(domain)
    assert.deepEqual([(await proofOf(domain)).state, await isServed()], ['asked', false])
  })

  it('and is required no longer, a name that another account had is served where it leads elsewhere', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    const domain = await add(two, 'required')
    await applyProofMode(pool, { mode: 'takeover', nowMs: clock.atMs, speed: 1 })
    assert.equal(await isServed(), false)
    look = missing('elsewhere')
    await proofs.check(domain)
    assert.deepEqual([(await proofOf(domain)).state, await isServed()], ['not-asked', true])
  })

  it('and is required no longer, a name that another account had is asked about until proofs are off', async () => {
    await add(one)
    await deleteDomain(pool, one, SHOP)
    look = missing('here')
    await add(two)
    await applyProofMode(pool, { mode: 'takeover', nowMs: clock.atMs, speed: 1 })
    assert.equal(await isServed(), false)
    await applyProofMode(pool, { mode: 'off', nowMs: clock.atMs, speed: 1 })
    assert.equal(await isServed(), true)
  })
})

describe('a proof that was found', () => {
  it('is looked at weekly, is lost after two misses a day apart, and its owners are told once', async () => {
    const domain = await add(one)
    look = FOUND
    await proofs.check(domain)
    look = missing('elsewhere')
    const runAfter = async (ms: number) => {
      clock.atMs += ms
      await bringForward(pool, ms)
      return runDueTasks(pool, task())
    }
    assert.equal(await runAfter(7 * DAY_MS - 60_000), 0)
    assert.equal(await runAfter(60_000), 1)
    assert.equal((await proofOf(domain)).state, 'proven')
    assert.equal(await runAfter(DAY_MS), 1)
    assert.deepEqual([(await proofOf(domain)).state, await isServed()], ['lost', true])
    assert.equal(await runAfter(7 * DAY_MS), 1)
    const [letter, ...others] = await lettersSent()
    assert.deepEqual(
      [letter!.to, letter!.subject, others],
      [`owner-${accounts - 1}@example.com`, `The proof of ${SHOP} is lost`, []],
    )
    assert.match(letter!.text, /https:\/\/prepaint\.example\/domains\/shop\.example\.com/)
    look = FOUND
    await proofs.check(domain)
    assert.equal((await proofOf(domain)).state, 'proven')
  })

  it('is looked at again after a restored backup, as what is asked for', async () => {
    look = FOUND
    await proofs.check(await add(one))
    await add(two, 'required', 'new.example.com' as DomainName)
    await pool.query('delete from task')
    await askForSubjects(pool, task())
    assert.equal((await column(`select key from task where kind = 'domain-proof'`)).length, 3)
  })
})

describe('checks of owners', () => {
  it('are 30 an hour of an account, and not one more; others are not held up', async () => {
    const domain = await add(one)
    for (let n = 0; n < PROOF_CHECKS_AN_HOUR; n++) await proofs.check(domain)
    await assert.rejects(proofs.check(domain), { code: 'too_many_checks' })
    await proofs.check(await add(two, 'takeover', 'other.example.com' as DomainName))
    await pool.query(`update rate set moments[1] = now() - interval '3601 seconds'`)
    await proofs.check(domain)
  })

  it('of one account leave places to others, however many it asks for at once', async () => {
    const { promise: held, resolve } = Promise.withResolvers<void>()
    let begun = 0
    const slow = new DomainProofs(
      pool,
      clock,
      async () => {
        begun++
        await held
        return FOUND
      },
      1,
    )
    const domain = await add(one)
    const mine = Array.from({ length: 20 }, () =>
      slow.check(domain).then(
        () => 'done',
        (error) => error.code,
      ),
    )
    const other = slow.check(await add(two, 'takeover', 'other.example.com' as DomainName))
    resolve()
    assert.equal((await other).state, 'proven')
    const ends = await Promise.all(mine)
    assert.equal(ends.filter((end) => end === 'done').length, 8)
    assert.equal(begun, 9)
  })

  it('of a domain that was not asked are kept, and change nothing of how it is served', async () => {
    const domain = await add(one)
    await proofs.check(domain)
    const kept = await proofs.read(domain)
    assert.deepEqual([kept.state, kept.served, kept.error], ['not-asked', true, 'not found, none'])
    assert.equal(kept.checked_at, new Date(clock.atMs).toISOString())
  })

  it('of a domain that was deleted meanwhile find nothing', async () => {
    const domain = await add(one)
    await deleteDomain(pool, one, SHOP)
    await assert.rejects(proofs.check(domain), { code: 'domain_not_found' })
    assert.deepEqual(await column('select 1 from domain_proof'), [])
  })
})

describe('the operator', () => {
  it('vouches for an account', async () => {
    const domain = await add(one, 'required')
    assert.equal((await proofs.vouch(domain)).method, 'operator')
    assert.equal(await isServed(), true)
    assert.deepEqual(await actionsOf(one), ['domain.added', 'domain.proven'])
  })

  const INPUT = { name: SHOP, originUrl: 'https://new.example.com' }
  async function move({ id, to }: { id: DomainId; to: AccountId }, input = INPUT) {
    const moved = await moveDomain(pool, { from: one, id, to }, input, view())
    assert('domain' in moved)
    return moved.domain
  }

  it('does not move a name that its account has proven, also if it does so meanwhile', async () => {
    const domain = await add(one)
    look = FOUND
    await proofs.check(domain)
    const asked = { from: one, id: domain.id, to: two }
    assert.deepEqual(await moveDomain(pool, asked, INPUT, view()), { provenBy: 'dns' })
    await pool.query('delete from domain_proof')
    const proving = await pool.connect()
    try {
      await proving.query('begin')
      // As a check does it, which is about to end.
      await proving.query('select from domain where id = $1 for no key update', [domain.id])
      const moving = moveDomain(pool, asked, INPUT, view())
      await until('the move waits', async () => (await waitingForLocks(pool)) === 1)
      await proving.query(
        `insert into domain_proof (domain_id, account_id, state, served, method) values ($1, $2, 'proven', true, 'file')`,
        [domain.id, one],
      )
      await proving.query('commit')
      assert.deepEqual(await moving, { provenBy: 'file' })
    } finally {
      proving.release()
    }
    assert.deepEqual(await column('select account_id from domain'), [one])
    assert.deepEqual(await actionsOf(two), [])
    await proofs.vouch(domain)
    await move({ id: domain.id, to: two })
  })

  it('moves a name: nothing of the account that had it is left, and neither is told of the other', async () => {
    const { id } = await add(one)
    await pool.query(`insert into domain_tags values ($1, '{red}')`, [id])
    look = missing('here')
    const input = { name: SHOP, originUrl: 'https://new.example.com' }
    const moved = await move({ id, to: two }, input)
    assert.notEqual(moved.id, id)
    assert.equal(moved.origin_url, 'https://new.example.com')
    assert.deepEqual(await column('select account_id from domain'), [two])
    assert.deepEqual(await column('select 1 from domain_tags'), [])
    assert.deepEqual(await actionsOf(one), ['domain.added', 'domain.moved'])
    assert.deepEqual(await actionsOf(two), ['domain.moved'])
    const [told] = await column<string>(
      `select details::text || coalesce(target, '') from audit_entry where account_id = $1 and action = 'domain.moved'`,
      two,
    )
    assert.doesNotMatch(told!, /owner-|account/)
    assert.deepEqual(await formerAccounts(pool, SHOP), [one])
    const again = { from: two, id: moved.id, to: two }
    await assert.rejects(moveDomain(pool, again, input, view()), { code: 'domain_exists' })
  })
})
