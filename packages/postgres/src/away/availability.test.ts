import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { pino } from 'pino'
import { until } from '../../../../test/support/condition.ts'
import { openTestDatabase } from '../../../../test/support/database.ts'
import { startDatabaseProxy } from '../../../../test/support/database-proxy.ts'
import { withClient } from '../connection.ts'
import { createPool, Database, POOL } from '../database.ts'
import { createListener } from '../listener.ts'
import { transaction } from '../transaction.ts'
import { Availability, type AvailabilityTimes } from './availability.ts'
import { AwayLog, withoutAwayErrors } from './away-log.ts'
import { type AwayKind, awayKind, DatabaseAway } from './errors.ts'

const TIMES: AvailabilityTimes = {
  queryMs: 3_000,
  suspectMs: 500,
  probeMs: 1_000,
  backOffFirstMs: 5,
  backOffMaxMs: 50,
  graceMs: 20,
}

const { connection, pool: direct } = await openTestDatabase({ empty: true })

/** A node's connections, through a network that can fail. */
async function open(t: TestContext, times: Partial<AvailabilityTimes> = {}) {
  const proxy = await startDatabaseProxy(connection)
  const database = new Database('', proxy.connection, silentLog(), null)
  const { pool } = database
  const availability = new Availability(database, silentLog(), {
    times: { ...TIMES, ...times },
  })
  const listener = await createListener(proxy.connection, silentLog())
  availability.watch(listener)
  listener.onServerLeaving(() => availability.leaveServer())
  t.after(async () => {
    proxy.set('through')
    await listener.close()
    await availability.close()
    proxy.close()
    await database.close()
  })
  const ask = () => availability.db.query<{ n: number }>('select 1 as n')
  /** A busy machine may take longer than a limit for one of them. */
  const answered = () =>
    until('it is answered', async () => (await ask().catch(() => null))?.rows[0]?.n === 1, 30_000)
  return { proxy, pool, availability, listener, ask, answered }
}

const isKind = (kind: AwayKind) => (error: unknown) => {
  assert.equal(awayKind(error), kind)
  return true
}

describe('errors that say that PostgreSQL is away', () => {
  const server = (code: string) => Object.assign(new pg.DatabaseError('no', 1, 'error'), { code })
  const KINDS: [name: string, error: unknown, kind: AwayKind | null][] = [
    ['a transaction that may not write', server('25006'), 'read-only'],
    ['a full disk', server('53100'), 'full'],
    ['no connection left', server('53300'), 'connections'],
    ['a shutdown', server('57P01'), 'closed'],
    ['a crash', server('57P02'), 'closed'],
    ['a start', server('57P03'), 'starting'],
    ['a broken connection', server('08006'), 'closed'],
    ['a connection that ended', new Error('Connection terminated unexpectedly'), 'closed'],
    ['a query without a response', new Error('Query read timeout'), 'silent'],
    ['a wrapped one', new Error('no', { cause: server('57P01') }), 'closed'],
    ['a cancelled statement', server('57014'), null],
    ['a duplicate key', server('23505'), null],
    ['an idle session that was closed by its own limit', server('57P05'), null],
    [
      'a refused connection to another server',
      Object.assign(new Error('no'), { code: 'ECONNREFUSED' }),
      null,
    ],
    ['no error', null, null],
  ]
  for (const [name, error, kind] of KINDS) {
    it(`${name}: ${kind ?? 'does not'}`, () => assert.equal(awayKind(error), kind))
  }

  it("a refused connection to PostgreSQL does: the socket's errors are known", async (t) => {
    const pool = createPool({ host: '/nowhere', user: 'nobody' }, silentLog())
    t.after(() => pool.end())
    await assert.rejects(pool.query('select'), isKind('refused'))
  })

  it('a connection that gets no answer in time is silent, not closed', async (t) => {
    const { proxy } = await open(t)
    proxy.set('swallow')
    const connecting = withClient({ ...proxy.connection, connectionTimeoutMillis: 50 }, async () => {})
    await assert.rejects(connecting, isKind('silent'))
  })
})

describe('the availability of the database', () => {
  it("a query's own error is given, and the database counts as there", async (t) => {
    const { availability } = await open(t)
    await assert.rejects(availability.db.query('select 1 / 0'), /division by zero/)
    await assert.rejects(availability.pool.query('select 1 / 0'), /division by zero/)
    assert.equal(availability.isAway, false)
  })

  it('a slow query with a fallback is given up, goes on, and harms no other', async (t) => {
    const { pool, availability, answered } = await open(t, { queryMs: 1_000 })
    const slow = pool.query('select pg_sleep(4)')
    await assert.rejects(
      availability.run(() => slow),
      /no response from the database in 1000 ms/,
    )
    assert.equal(availability.isAway, false)
    await answered()
    assert.equal((await slow).rowCount, 1, 'it was not cut off')
  })

  it('a response is waited for as much longer as this process was busy itself', async (t) => {
    const database = new Database('', connection, silentLog(), null)
    const availability = new Availability(database, silentLog(), { times: { ...TIMES, queryMs: 200 } })
    t.after(async () => {
      await availability.close()
      await database.close()
    })
    await until('it is answered', async () => (await availability.db.query('select 1')).rowCount === 1)
    const asked = availability.db.query<{ n: number }>('select 1 as n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    assert.equal((await asked).rows[0]!.n, 1)
  })

  it('a slow query without a fallback is waited for', async (t) => {
    const { availability } = await open(t, { queryMs: 100, suspectMs: 50 })
    assert.equal((await availability.pool.query('select pg_sleep(2)')).rowCount, 1)
  })

  it('when packets are dropped the first queries wait for the probe, later ones do not; it heals by itself', async (t) => {
    const { proxy, availability, answered, ask } = await open(t)
    await Promise.all([answered(), answered(), answered()])
    proxy.set('swallow')
    const begun = [
      ask(),
      availability.pool.query('select'),
      transaction(availability.pool, (c) => c.query('select')),
    ]
    for (const query of begun) await assert.rejects(query, isKind('silent'))
    assert.equal(availability.isAway, true)
    assert(availability.awayMs >= 0)
    const untried = availability.run(async () => assert.fail('it was tried'))
    await assert.rejects(untried, DatabaseAway)
    await assert.rejects(availability.pool.connect(), DatabaseAway)

    proxy.set('through')
    await until('it is back', () => !availability.isAway)
    await answered()
    assert.equal(availability.awayMs, 0)
  })

  const FAILING: [name: string, state: 'refuse' | '57P03', kind: AwayKind][] = [
    ['resets connections', 'refuse', 'closed'],
    ['is starting', '57P03', 'starting'],
  ]
  for (const [name, state, kind] of FAILING) {
    it(`a server that ${name} is away until a connection is accepted and the listener listens`, async (t) => {
      const { proxy, pool, availability, listener, answered, ask } = await open(t)
      await answered()
      proxy.set(state)
      if (state === '57P03') for (const client of [await pool.connect()]) client.release(true)
      await until(
        'it is known',
        async () => isKind(kind)(await ask().catch((error) => error)) && availability.isAway,
      )
      await until('the listener is gone', () => !listener.connected)
      proxy.set('through')
      await until('it is back', () => !availability.isAway)
      assert.equal(listener.connected, true)
      await answered()
    })
  }

  it('a server without a free connection is away for new connections only: open ones are used', async (t) => {
    const { proxy, pool, availability, listener, ask } = await open(t)
    const held = await pool.connect()
    proxy.set('53300')
    await assert.rejects(ask(), isKind('connections'))
    await until('it is known', () => availability.isAway)
    held.release()
    assert.equal((await ask()).rows[0]?.n, 1)
    assert.equal(listener.connected, true, 'what is in memory can be trusted')
  })

  it('a server that takes no writes any more is left: all connections are closed, and it is away until it takes writes', async (t) => {
    const { pool, availability, listener, answered } = await open(t)
    await answered()
    const readOnly = (isOn: boolean) =>
      direct.query(
        `alter database ${connection.database} set default_transaction_read_only = ${isOn ? 'on' : 'off'}`,
      )
    const client = await pool.connect()
    await readOnly(true)
    t.after(() => readOnly(false))
    await client.query('set default_transaction_read_only = on')
    await assert.rejects(client.query('create table x ()'), isKind('read-only'))
    client.release()
    await until('it is away', () => availability.isAway && !listener.connected)
    await assert.rejects(availability.db.query('select'), isKind('read-only'))
    const still = new pg.Client(connection)
    await still.connect()
    await still.query('set default_transaction_read_only = off')
    await still.query(`alter database ${connection.database} set default_transaction_read_only = off`)
    await still.end()
    await until('it is back', () => !availability.isAway && listener.connected)
  })

  it('a connection that the server closes makes the node close all others, which may lead to the same server', async (t) => {
    const { pool, availability, listener, answered } = await open(t)
    const [first, second] = [await pool.connect(), await pool.connect()]
    const lost = new Promise<void>((resolve) => listener.onLost(resolve))
    const hanging = second.query('select pg_sleep(60)').catch((error: Error) => error)
    await direct.query('select pg_terminate_backend($1)', [first.processID])
    assert.equal(awayKind(await hanging), 'closed')
    await lost
    first.release(true)
    second.release(true)
    await until('it is there', () => !availability.isAway && listener.connected)
    await answered()
  })

  it('a process that is itself too busy to hear the answer does not take the database for silent', async (t) => {
    const { availability, answered } = await open(t, { probeMs: 400 })
    await answered()
    let wasAway = false
    const looking = setInterval(() => {
      wasAway ||= availability.isAway
    }, 1)
    availability.suspect()
    // The probe is under way when this process stops for longer than its limit.
    await new Promise(setImmediate)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)
    await answered()
    await until('the suspicion is settled', async () => {
      availability.suspect()
      return (await availability.db.query('select 1').catch(() => null)) !== null
    })
    clearInterval(looking)
    assert.equal(wasAway, false)
  })

  it('reads of what is stored are answered while all other connections are taken; what waits for those is told that they are', async (t) => {
    const { pool, availability } = await open(t, { queryMs: 1_000 })
    const taken = await Promise.all(Array.from({ length: POOL.most }, () => pool.connect()))
    try {
      await assert.rejects(availability.db.query('select 1'), isKind('connections'))
      assert.equal((await availability.reads.query('select 1 as n')).rows[0].n, 1)
      assert.equal(availability.isAway, false)
    } finally {
      for (const client of taken) client.release()
    }
  })

  it('a held database is away until it is admitted', async (t) => {
    const database = new Database('', connection, silentLog(), null)
    const availability = new Availability(database, silentLog(), { isHeld: true })
    t.after(async () => {
      await availability.close()
      await database.close()
    })
    await assert.rejects(availability.db.query('select'), DatabaseAway)
    let isBack = false
    availability.onBack(() => {
      isBack = true
    })
    availability.admit()
    assert.equal(isBack, true)
    assert.equal((await availability.db.query('select')).rowCount, 1)
  })
})

describe('the log while the database is away', () => {
  function newLog(isAway: () => boolean) {
    const lines: { level: number; msg: string; kind?: string; errors?: number }[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    let nowS = 1_000
    const awayLog = new AwayLog(log, () => nowS, isAway)
    const filtered = withoutAwayErrors(log, (kind, error) => awayLog.note(kind, error))
    const wait = (seconds: number) => {
      nowS += seconds
    }
    return { lines, awayLog, filtered, wait }
  }

  it('has one line for the beginning of each kind of error and one with a count for its end', () => {
    let isAway = true
    const { lines, awayLog, filtered, wait } = newLog(() => isAway)
    const error = new DatabaseAway('silent', 'no')
    for (let at = 0; at < 500; at++) filtered.error({ err: error }, 'a request failed')
    filtered.warn({ err: new DatabaseAway('full', 'no space') }, 'another')
    assert.deepEqual(
      lines.map(({ kind, level }) => [kind, level]),
      [
        ['silent', 40],
        ['full', 40],
      ],
    )
    wait(6)
    awayLog.closeEnded()
    assert.equal(lines.length, 2, 'it is still away')
    isAway = false
    awayLog.closeEnded()
    assert.deepEqual(
      lines.slice(2).map(({ kind, level, errors }) => [kind, level, errors]),
      [
        ['silent', 30, 500],
        ['full', 30, 1],
      ],
    )
    awayLog.close()
  })

  it('has a kind that comes again and again as a warning once a minute', () => {
    const { lines, awayLog, wait } = newLog(() => false)
    for (let flap = 0; flap < 100; flap++) {
      awayLog.note('refused', new Error('no'))
      wait(6)
      awayLog.closeEnded()
    }
    assert.equal(lines.filter(({ level }) => level >= 40).length, 10)
    awayLog.close()
  })

  it('has other errors as they come', () => {
    const { lines, awayLog, filtered } = newLog(() => true)
    filtered.error({ err: new Error('a fault') }, 'failed')
    filtered.warn('words')
    filtered.info({ err: new DatabaseAway('silent', 'no') }, 'told')
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['failed', 'words', 'told'],
    )
    awayLog.close()
  })
})
