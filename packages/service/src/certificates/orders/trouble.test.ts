/** What can go wrong with orders, with a CA that fails on request. */
import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import type { Task } from '@prepaint/postgres/tasks'
import { silentLog } from '@prepaint/runtime/log.ts'
import { startTestAcme } from '../../../../../test/support/acme-server.ts'
import {
  type TestNode,
  type TestOrdering,
  type TestOrderingOptions,
  testFleet,
} from '../../../../../test/support/certificate-fleet.ts'
import { until } from '../../../../../test/support/condition.ts'
import { renewalMs, suggestedMs } from '../acme/renewal.ts'
import { backOffMs, renewalBackOffMs } from './back-off.ts'
import { askForOrders, beginOrder, endOrder, ORDER_TASK, readNextRun, withLease } from './order-book.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

const fleet = await testFleet()
const [one, two] = [await fleet.node(), await fleet.node()]
const acme = await startTestAcme(two.ports)
let orderings: TestOrdering[] = []
afterEach(async () => {
  for (const ordering of orderings) await ordering.close()
  orderings = []
  Object.assign(acme, { fault: null, retryAfter: '7200', window: null, lifetimeMs: 90 * DAY_MS })
  acme.beforeJudging = async () => {}
  await fleet.pool.query('delete from domain; delete from acme_order; delete from rate; delete from task')
})
after(async () => {
  await fleet.close()
  await acme.close()
})

const order = (node: TestNode, options: TestOrderingOptions = {}) => {
  const ordering = node.order(acme, { random: () => 0, ...options })
  orderings.push(ordering)
  return ordering
}

const issued = (name: string) =>
  until(`a certificate for ${name}`, async () => (await fleet.view(name)).certificate)
const added = async (name: string) => {
  await fleet.addDomain(name)
  return issued(name)
}
const failed = (name: string, failures: number) =>
  until(`failure ${failures} of ${name}`, async () => {
    const view = await fleet.view(name)
    return view.order.failures === failures ? view.order : null
  })
const ordersOf = (name: string) => acme.orders.filter((each) => each === name).length
/** From the last failure to the next attempt. */
const waitOf = (it: { next_attempt_at: string | null; last_error_at: string | null }) =>
  Date.parse(it.next_attempt_at ?? '') - Date.parse(it.last_error_at ?? '')
/** The time of the next attempt has come. */
const nextAttempt = async (name: string, ordering: TestOrdering) => {
  const { order: due } = await fleet.view(name)
  await fleet.turn(Date.parse(due.next_attempt_at!) - fleet.clock.nowMs() + 1)
  ordering.wake()
}
const renewNow = async (ordering: TestOrdering) => {
  const now = new Date(fleet.clock.nowMs())
  await fleet.pool.query('update certificate_order set next_at = $1, renew_at = $1', [now])
  ordering.wake()
}
const renewed = (name: string, serial: string) =>
  until('a renewal', async () => {
    const { certificate } = await fleet.view(name)
    return certificate?.serial === serial ? null : certificate
  })
/** The CA waits before it judges proofs, until `release`. */
const holdJudging = () => {
  const [asked, hold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  acme.beforeJudging = () => {
    asked.resolve()
    return hold.promise
  }
  return { asked: asked.promise, release: hold.resolve }
}
/** Proofs on the plain port are wrong until the returned function is called. */
const hidePlainProofs = async () => {
  await fleet.pool.query(`create or replace function hide() returns trigger language plpgsql as
    'begin if new.kind = ''http-01'' then new.token = ''hidden''; end if; return new; end';
    create trigger hide before insert or update on acme_challenge for each row execute function hide()`)
  return () => fleet.pool.query('drop trigger hide on acme_challenge')
}

for (const [what, fault, error, waitMs] of [
  ['is away: it is asked again after a minute', 'away', /\(status 503\)/, MINUTE_MS],
  ['takes no nonce of its own: that ends too', 'nonces', /stale/, MINUTE_MS],
  ['limits us: it is left alone for so long', 'rate-limited', /^too many certificates$/, 2 * HOUR_MS],
  ['is too busy for a nonce: that is no refusal', 'no-nonce', /\(status 503\)/, 2 * HOUR_MS],
] as const) {
  it(`the CA ${what}; then it is back`, async () => {
    acme.fault = fault
    const ordering = order(one)
    await fleet.addDomain('patient.example')
    const it_ = await failed('patient.example', 1)
    assert.match(it_.last_error ?? '', error)
    assert.equal(waitOf(it_), waitMs)
    acme.fault = null
    await nextAttempt('patient.example', ordering)
    await issued('patient.example')
    const { order: then } = await fleet.view('patient.example')
    assert.deepEqual([then.last_error, then.failures], [null, 0])
  })
}

it('a name that does not lead to us costs no order; the first refusal by the CA then waits ten minutes', async () => {
  let leadsHere = false
  const ordering = order(one, {
    reach: async () => (leadsHere ? { kind: 'http-01' } : { unreachable: 'it leads elsewhere' }),
  })
  const show = await hidePlainProofs()
  await fleet.addDomain('late.example')
  const away = await failed('late.example', 1)
  assert.deepEqual([away.last_error, waitOf(away)], ['it leads elsewhere', MINUTE_MS])
  await nextAttempt('late.example', ordering)
  await failed('late.example', 2)
  assert.equal(ordersOf('late.example'), 0)
  leadsHere = true
  await nextAttempt('late.example', ordering)
  const refused = await failed('late.example', 1)
  assert.match(refused.last_error ?? '', /no proof by http-01/)
  assert.equal(waitOf(refused), 10 * MINUTE_MS)
  await show()
})

it('without a look beforehand, the other challenge is tried after a failure', async () => {
  // The plain port of the node that the CA comes to answers nothing.
  const ordering = order(one, { reach: null })
  const show = await hidePlainProofs()
  await fleet.addDomain('other-way.example')
  const refused = await failed('other-way.example', 1)
  assert.match(refused.last_error ?? '', /no proof by http-01/)
  assert.equal(waitOf(refused), 10 * MINUTE_MS)
  await nextAttempt('other-way.example', ordering)
  await issued('other-way.example')
  await show()
})

it('the budget of the fleet: one order more than it allows waits for the hour to pass', async () => {
  const ordering = order(one, { perHour: 2 })
  const names = ['b1.example', 'b2.example', 'b3.example']
  for (const name of names) await fleet.addDomain(name)
  const waiting = await until('the third is told to wait', async () => {
    const views = await Promise.all(names.map((name) => fleet.view(name)))
    const [left, ...more] = views.filter(({ certificate }) => certificate === null)
    const waitMs = Date.parse(left?.order.next_attempt_at ?? '') - fleet.clock.nowMs()
    return more.length === 0 && waitMs > 59 * MINUTE_MS ? left : null
  })
  assert.equal(waiting.order.failures, 0)
  await fleet.turn(61 * MINUTE_MS)
  ordering.wake()
  for (const name of names) await issued(name)
})

it("the budget is everybody's: an account with many new names does not keep out another", async () => {
  const { rows } = await fleet.pool.query<{ id: number }>(
    `insert into account (email, plan) values ('many@example.com', 'enterprise') returning id`,
  )
  await fleet.pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select $1, 'many-' || n || '.example', 'https://origin.example.com' from generate_series(1, 5) n`,
    [rows[0]!.id],
  )
  await fleet.addDomain('only.example')
  order(one, { perHour: 2, slots: 1 })
  await issued('only.example')
  assert.match(acme.orders.slice(-2).sort().join(), /^many-\d\.example,only\.example$/)
  await fleet.pool.query('delete from account where id = $1', [rows[0]!.id])
})

// Proves decided "Certificates"
it('renewal: at a third of the lifetime, the old one is served until then, the order names what it replaces', async () => {
  acme.lifetimeMs = 9 * DAY_MS
  acme.window = { start: new Date(Date.now() + 5 * DAY_MS), end: new Date(Date.now() + 5 * DAY_MS) }
  const ordering = order(one)
  const first = await added('renewed.example')
  assert.equal((await two.handshake('renewed.example')).serial, first.serial)
  assert.equal(ordersOf('renewed.example'), 1)

  // The CA is asked from time to time, and changes its mind: at once.
  await nextAttempt('renewed.example', ordering)
  await until('it was asked', async () => {
    const { order: it_ } = await fleet.view('renewed.example')
    return Date.parse(it_.next_attempt_at!) > fleet.clock.nowMs()
  })
  assert.equal(ordersOf('renewed.example'), 1)
  acme.window = { start: new Date(0), end: new Date(1) }
  await nextAttempt('renewed.example', ordering)
  const { serial: second } = await renewed('renewed.example', first.serial)
  const [, serial = ''] = (acme.replaced.at(-1) ?? '').split('.')
  assert.equal(Buffer.from(serial, 'base64url').toString('hex').toUpperCase(), first.serial)
  await until('it is served', async () => (await two.handshake('renewed.example')).serial === second)
})

// Proves decided "Certificates"
it('a renewal that fails keeps the old certificate until its end', async () => {
  acme.lifetimeMs = 9 * DAY_MS
  const ordering = order(one)
  const { serial, not_after: end } = await added('kept.example')
  acme.fault = 'rate-limited'
  await renewNow(ordering)
  // What the CA wants is what is waited, also now.
  assert.equal(waitOf(await failed('kept.example', 1)), 7_200_000)
  // But not for years.
  acme.retryAfter = '999999999'
  await nextAttempt('kept.example', ordering)
  assert.equal(waitOf(await failed('kept.example', 2)), 2 * DAY_MS)
  assert.equal((await two.handshake('kept.example')).serial, serial)
  // This clock runs on by itself.
  await fleet.turn(Date.parse(end) - fleet.clock.nowMs() - 5_000)
  assert.equal((await two.handshake('kept.example')).serial, serial)
  await fleet.turn(5_000)
  await assert.rejects(two.handshake('kept.example'))
})

it('a CA that has seen it replaced already, or gave it to another account, gives another one all the same', async () => {
  const ordering = order(one)
  await fleet.addDomain('again.example')
  for (const fault of ['replaced-already', 'not-his'] as const) {
    const { serial } = await issued('again.example')
    acme.fault = fault
    await renewNow(ordering)
    await renewed('again.example', serial)
  }
})

it('another CA is named: what the first one has issued is replaced at once', async () => {
  const first = order(one)
  const { serial } = await added('moved.example')
  await first.close()
  const other = await startTestAcme(two.ports)
  orderings.push(one.order(other))
  await renewed('moved.example', serial)
  assert.deepEqual(other.orders, ['moved.example'])
  await other.close()
})

it('two nodes order: each name once', async () => {
  order(one)
  order(two)
  const names = Array.from({ length: 12 }, (_, at) => `shared-${at}.example`)
  for (const name of names) await fleet.addDomain(name)
  for (const name of names) await issued(name)
  assert.deepEqual(names.map(ordersOf), Array(12).fill(1))
})

// Proves decided "Certificates"
it('a node that is lost in the middle of an order: another takes it up, and all serve', async () => {
  const { asked, release } = holdJudging()
  const lost = order(one)
  await fleet.addDomain('orphan.example')
  await asked
  assert.equal(ordersOf('orphan.example'), 1)
  const token = async () => (await fleet.pool.query('select token from acme_challenge')).rows[0]?.token
  const first = await token()
  await fleet.pool.query(`update task set lease = gen_random_uuid(), lease_until = now()`)
  order(two)
  await until('another proof', async () => (await token()) !== first)
  assert.equal(ordersOf('orphan.example'), 2)
  // It has not noticed. The proof is not its own any more.
  await lost.close()
  release()
  const { serial } = await issued('orphan.example')
  for (const node of [one, two]) assert.equal((await node.handshake('orphan.example')).serial, serial)
  const challenges = () => fleet.pool.query('select from acme_challenge')
  await until('no challenge is left', async () => (await challenges()).rowCount === 0)
})

/** Takes the next order as a node with one free place does. */
async function claim(): Promise<Task | undefined> {
  const { rows } = await fleet.pool.query<Task>(
    `select kind, key, account_id as "accountId", payload, failures, lease
       from claim_tasks($1, 1, 100, interval '1 minute')`,
    [ORDER_TASK],
  )
  return rows[0]
}
const ask = () => askForOrders(fleet.pool, { names: null, nowMs: fleet.clock.nowMs() })
const begin = (task: Task) => beginOrder(fleet.pool, task, fleet.clock.nowMs())
const nextRun = (task: Task) => readNextRun(fleet.pool, task, fleet.clock.nowMs())

for (const [what, sql] of [
  ['another node has taken its task', 'update task set lease = gen_random_uuid()'],
  ['its task is gone', 'delete from task'],
  ['a node of 0.2.0 has taken the order', 'update certificate_order set lease = gen_random_uuid()'],
  ['the owner has removed a certificate', 'update certificate_order set lease = null, lease_until = null'],
] as const) {
  it(`what a node brings is dropped if ${what}`, async () => {
    const domain = await fleet.addDomain('late.example')
    await ask()
    const begun = await begin((await claim())!)
    assert.equal(begun?.domain.id, domain.id)
    assert.equal(await withLease(fleet.pool, begun, async () => {}), true)
    await fleet.pool.query(sql)
    assert.equal(await withLease(fleet.pool, begun, () => assert.fail('it is stored')), false)
    const nextAtMs = fleet.clock.nowMs() + DAY_MS
    await endOrder(fleet.pool, begun, { kind: 'later', nextAtMs })
    const { order: left } = await fleet.view('late.example')
    assert(Date.parse(left.next_attempt_at!) < nextAtMs)
  })
}

describe('beside nodes of 0.2.0', () => {
  /** Takes due orders as they do. */
  const takenByOlder = async () => {
    const { rows } = await fleet.pool.query<{ domain_id: number }>(
      `update certificate_order set lease = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 minute'
        where next_at <= $1 and (lease_until is null or lease_until < clock_timestamp()) returning domain_id`,
      [new Date(fleet.clock.nowMs())],
    )
    return rows.map(({ domain_id }) => domain_id)
  }

  it('an order that a node with tasks works on is not taken by them, until it is given back', async () => {
    const domain = await fleet.addDomain('ours.example')
    await ask()
    const begun = await begin((await claim())!)
    assert.deepEqual(await takenByOlder(), [])
    await endOrder(fleet.pool, begun!, { kind: 'later', nextAtMs: fleet.clock.nowMs() })
    assert.deepEqual(await takenByOlder(), [domain.id])
  })

  it('an order that one of them works on is not begun, and is looked at again when its lease ends', async () => {
    await fleet.addDomain('theirs.example')
    assert.equal((await takenByOlder()).length, 1)
    await ask()
    const task = (await claim())!
    assert.equal(await begin(task), null)
    const { againMs } = (await nextRun(task))!
    assert(againMs > 30_000 && againMs <= MINUTE_MS, `${againMs}`)
    await fleet.pool.query('update certificate_order set lease_until = clock_timestamp()')
    assert.notEqual(await begin(task), null)
  })

  it('a dead node with tasks holds up no other node with tasks', async () => {
    await fleet.addDomain('taken-over.example')
    await ask()
    await begin((await claim())!)
    await fleet.pool.query('update task set lease_until = now()')
    assert.notEqual(await begin((await claim())!), null)
  })
})

describe('asking for orders', () => {
  const due = () =>
    fleet.database.column<[string, number]>(
      `select json_build_array(d.custom_domain, round(extract(epoch from t.due_at - clock_timestamp()) / 3600))
         from task t join domain d on d.id::text = t.key order by d.custom_domain`,
    )

  it('an order that became due earlier than its task, also after a failure, is due at once', async () => {
    const { id } = await fleet.addDomain('sooner.example')
    const nextAt = (hours: number) =>
      fleet.pool.query('update certificate_order set next_at = $2 where domain_id = $1', [
        id,
        new Date(fleet.clock.nowMs() + hours * HOUR_MS),
      ])
    await nextAt(9)
    await ask()
    assert.deepEqual(await due(), [['sooner.example', 9]])
    await fleet.pool.query('update task set failures = 3')
    await ask()
    assert.deepEqual(await fleet.database.column('select failures from task'), [3])
    await nextAt(0)
    await ask()
    assert.deepEqual(await due(), [['sooner.example', 0]])
  })

  it('it is for the named domains only', async () => {
    await fleet.addDomain('named.example')
    await fleet.addDomain('not-named.example')
    await askForOrders(fleet.pool, { names: ['named.example'], nowMs: fleet.clock.nowMs() })
    assert.deepEqual(
      (await due()).map(([name]) => name),
      ['named.example'],
    )
  })

  it('a deleted domain takes its task along', async () => {
    const { id } = await fleet.addDomain('gone.example')
    await ask()
    await fleet.pool.query('delete from domain where id = $1', [id])
    assert.deepEqual(await fleet.database.column('select key from task'), [])
  })
})

it('a domain that is deleted and registered by another while an order runs: he gets one of his own', async () => {
  const { asked, release } = holdJudging()
  order(one)
  const before = await fleet.addDomain('sold.example')
  await asked
  await fleet.pool.query('delete from domain where id = $1', [before.id])
  const now = await fleet.addDomain('sold.example')
  release()
  await issued('sold.example')
  const { rows } = await fleet.pool.query('select domain_id from certificate')
  assert.deepEqual(rows, [{ domain_id: now.id }])
  assert.equal(ordersOf('sold.example'), 2)
})

it('an inactive domain is not ordered for, and is once it is active', async () => {
  const ordering = order(one)
  await fleet.pool.query(
    `insert into domain (account_id, custom_domain, origin_url, is_active) values ($1, 'idle.example', 'https://o.example', false)`,
    [fleet.account],
  )
  await added('awake.example')
  assert.equal(ordersOf('idle.example'), 0)
  await fleet.pool.query(`update domain set is_active = true where custom_domain = 'idle.example'`)
  ordering.wake()
  const { serial } = await issued('idle.example')

  // Switched off again, it passes its visitors: they shall not find its certificate ended one day.
  await fleet.pool.query(`update domain set is_active = false where custom_domain = 'idle.example'`)
  await fleet.turn(61 * DAY_MS)
  ordering.wake()
  await renewed('idle.example', serial)
})

it('what was issued while the database could not take it is stored a moment later, without another order', async () => {
  acme.beforeJudging = async () => {
    await fleet.pool.query('alter table certificate rename to put_away')
  }
  const said: string[] = []
  const warn = (_: unknown, words: string) => said.push(words)
  order(one, { log: Object.assign(silentLog(), { warn }), pollMs: 600_000 })
  await fleet.addDomain('stored-late.example')
  await until('it was not stored', () => said.includes('a new certificate could not be stored yet'))
  await fleet.pool.query('alter table put_away rename to certificate')
  await issued('stored-late.example')
  assert.equal(ordersOf('stored-late.example'), 1)
})

it('a domain that failed the last time holds up no other; then the one that waited longest is first', async () => {
  for (const [name, failures, hours] of [
    ['failed-long-ago.example', 3, 9],
    ['new.example', 0, 1],
    ['renewal.example', 0, 3],
    ['not-yet.example', 0, -1],
  ] as const) {
    const { id } = await fleet.addDomain(name)
    const at = new Date(fleet.clock.nowMs() - hours * HOUR_MS)
    const sql = 'update certificate_order set failures = $2, next_at = $3 where domain_id = $1'
    await fleet.pool.query(sql, [id, failures, at])
  }
  await ask()
  // Its last run told the task of the failures.
  const failing = `key = (select id::text from domain where custom_domain = 'failed-long-ago.example')`
  const [key] = await fleet.database.column<string>(`select key from task where ${failing}`)
  const next = await nextRun({
    ...{ kind: ORDER_TASK, key: key!, accountId: 0 },
    ...{ payload: {}, failures: 0, lease: '' },
  })
  assert.deepEqual(next, { againMs: 0, failures: 3 })
  await fleet.pool.query(`update task set failures = $1 where ${failing}`, [next.failures])
  const taken: string[] = []
  for (;;) {
    const task = await claim()
    if (task === undefined) break
    taken.push((await begin(task))!.domain.name)
  }
  assert.deepEqual(taken, ['renewal.example', 'new.example', 'failed-long-ago.example'])
})

const least = () => 0
const most = () => 1

describe('waiting after failures', () => {
  it('doubles up to a limit, for each kind of its own', () => {
    const minutes = (kind: Parameters<typeof backOffMs>[0]) =>
      [1, 2, 6, 7, 8, 9, 1_000].map((failures) => backOffMs(kind, failures, least) / MINUTE_MS)
    assert.deepEqual(minutes('not-here'), [1, 2, 32, 60, 60, 60, 60])
    assert.deepEqual(minutes('ca-away'), minutes('not-here'))
    assert.deepEqual(minutes('refused'), [10, 20, 320, 640, 1_280, 1_440, 1_440])
    assert.deepEqual(minutes('fault'), [5, 10, 160, 320, 360, 360, 360])
  })

  it('is up to a quarter less by chance, and never less than the CA wants, for two days at most', () => {
    assert.equal(backOffMs('refused', 1, most), 7.5 * MINUTE_MS)
    assert.equal(backOffMs('refused', 1, most, 3_600_000), 3_600_000)
    assert.equal(backOffMs('refused', 1, least, 1), 10 * MINUTE_MS)
    assert.equal(backOffMs('refused', 1, least, 365 * DAY_MS), 2 * DAY_MS)
  })
})

it('the wait for a renewal is shorter around the end of the certificate, and long again when that is long past', () => {
  const hours = (leftHours: number, wantedHours: number | null = null) =>
    renewalBackOffMs(24 * HOUR_MS, leftHours * HOUR_MS, wantedHours === null ? null : wantedHours * HOUR_MS) /
    HOUR_MS
  const waits = [192, 80, 8, 0, -8, -80, -720].map((left) => hours(left))
  assert.deepEqual(waits, [24, 10, 1, 1 / 6, 1, 10, 24])
  // Never less than the CA wants, for two days at most.
  assert.deepEqual([hours(8, 5), hours(8, 9_000), hours(-8, 5)], [5, 48, 5])
})

describe('the time of a renewal', () => {
  it('is at a third of the lifetime, up to a thirtieth earlier, however long that is', () => {
    for (const days of [90, 45, 6]) {
      const times = { notBeforeMs: 0, notAfterMs: days * DAY_MS }
      assert.equal(renewalMs(times, least), Math.round((days * DAY_MS * 2) / 3))
      assert.equal(renewalMs(times, most), Math.round(days * DAY_MS * (1 - 1 / 3 - 1 / 30)))
    }
  })

  it('is within the window that the CA suggests', () => {
    const window = { startMs: 1_000, endMs: 2_000, askAgainMs: 1 }
    assert.deepEqual([suggestedMs(window, least), suggestedMs(window, most)], [1_000, 2_000])
  })
})
