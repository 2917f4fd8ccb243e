import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { beforeEach, describe, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../test/support/condition.ts'
import { openTestDatabase } from '../../../../test/support/database.ts'
import { createListener } from '../listener.ts'
import { transaction } from '../transaction.ts'
import { type Ask, askTask, lockLease, runEach, type Task, type TaskKind, TaskRunner } from './tasks.ts'

const { pool, connection, column } = await openTestDatabase()
const NO_SUBJECTS = `select '' as key, 0 as account_id, now() as due_at where false`

beforeEach(async () => {
  await pool.query('truncate task')
})

const ask = (key: string | number, more: Partial<Ask> = {}) => askTask(pool, { kind: 'test', key, ...more })

/** As if so many milliseconds had passed for every task. */
const pass = (ms: number) =>
  pool.query(
    `update task set due_at = due_at - $1 * interval '1 millisecond', lease_until = lease_until - $1 * interval '1 millisecond'`,
    [ms],
  )

const kindOf = (run: TaskKind['run'], more: Partial<TaskKind> = {}): TaskKind => ({
  ...{ name: 'test', slots: 4, perAccount: 4, subjects: NO_SUBJECTS, faultMessage: 'a test failed' },
  run,
  ...more,
})

async function startRunner(
  t: { after(end: () => Promise<void>): void },
  kind: TaskKind,
  options: { leaseMs?: number; pollMs?: number } = {},
): Promise<TaskRunner> {
  const listener = await createListener(connection, silentLog())
  const runner = new TaskRunner(pool, listener, silentLog(), options)
  runner.add(kind)
  runner.start()
  t.after(async () => {
    await runner.close()
    await listener.close()
  })
  await listener.settled()
  return runner
}

/** A run that waits until the test opens the gate of its key. */
function gatedRuns() {
  const begun: string[] = []
  const gates = new Map<string, PromiseWithResolvers<number | null>>()
  return {
    begun,
    open: (key: string, end: number | null = null) => gates.get(key)!.resolve(end),
    run: ({ key }: Task, signal: AbortSignal) => {
      begun.push(key)
      const gate = Promise.withResolvers<number | null>()
      gates.set(key, gate)
      signal.addEventListener('abort', () => gate.reject(signal.reason as Error))
      return gate.promise
    },
  }
}

const waiting = () => column<string>('select key from task where lease is null order by key')
const running = () => column<string>('select key from task where lease is not null order by key')

describe('asking for a task', () => {
  it('a due task runs once and is gone', async (t) => {
    const ran: Task[] = []
    await startRunner(
      t,
      kindOf(async (task) => {
        ran.push(task)
        return null
      }),
    )
    await ask('a', { accountId: 7, payload: { why: 'test' } })
    await until('it ran', () => ran.length > 0)
    await until('it is gone', async () => (await column('select 1 from task')).length === 0)
    assert.partialDeepStrictEqual(ran, [
      { kind: 'test', key: 'a', accountId: 7, payload: { why: 'test' }, failures: 0 },
    ])
    assert.equal(ran.length, 1)
  })

  it('a task that is asked for twice exists once, and keeps the earlier time and the newer payload', async () => {
    await ask('a', { afterMs: 60_000, payload: { n: 1 } })
    await ask('a', { afterMs: 600_000, payload: { n: 2 } })
    const [row] = await column(
      `select payload || jsonb_build_object('soon', due_at < now() + interval '2 minutes') from task`,
    )
    assert.deepEqual(row, { n: 2, soon: true })
    await ask('a', { payload: { n: 2 } })
    assert.deepEqual(await column(`select due_at <= clock_timestamp() from task`), [true])
  })

  it('a transaction that is rolled back asks for nothing', async (t) => {
    const { begun, run } = gatedRuns()
    await startRunner(t, kindOf(run))
    await transaction(pool, async (client) => {
      await askTask(client, { kind: 'test', key: 'lost' })
      throw new Error('no')
    }).catch(() => {})
    await ask('kept')
    await until('one runs', () => begun.length > 0)
    assert.deepEqual(begun, ['kept'])
    assert.deepEqual(await column('select key from task'), ['kept'])
  })

  it('a task that is asked for by an open transaction runs after its commit, although it was due before', async (t) => {
    await ask('a')
    const asked = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    let isCommitted = false
    const asking = transaction(pool, async (client) => {
      await askTask(client, { kind: 'test', key: 'a' })
      asked.resolve()
      await commit.promise
      isCommitted = true
    })
    await asked.promise
    const seen: boolean[] = []
    await startRunner(
      t,
      kindOf(async () => {
        seen.push(isCommitted)
        return null
      }),
    )
    await ask('other')
    await until('the other ran', () => seen.length > 0)
    seen.length = 0
    commit.resolve()
    await asking
    await until('it ran', () => seen.length > 0)
    assert.deepEqual(seen, [true])
  })

  it('a task that is asked for while it runs, runs again', async (t) => {
    const { begun, open, run } = gatedRuns()
    await startRunner(t, kindOf(run))
    await ask('a')
    await until('it runs', () => begun.length === 1)
    await ask('a')
    assert.deepEqual(begun, ['a'])
    open('a')
    await until('it runs again', () => begun.length === 2)
    open('a')
    await until('it is gone', async () => (await column('select 1 from task')).length === 0)
  })

  it('a trigger can ask', async (t) => {
    await pool.query(`create table thing (id integer);
      create function thing_asks() returns trigger language plpgsql as
        $$ begin perform ask_task('test', new.id::text); return null; end $$;
      create trigger thing_asks after insert on thing for each row execute function thing_asks()`)
    const { begun, run } = gatedRuns()
    await startRunner(t, kindOf(run))
    await pool.query('insert into thing values (5)')
    await until('it runs', () => begun.length > 0)
    assert.deepEqual(begun, ['5'])
  })

  it('tasks that should exist and are missing are asked for at the start', async (t) => {
    const { begun, run } = gatedRuns()
    await ask(1, { afterMs: 600_000 })
    const subjects = `select n as key, 7 as account_id, now() as due_at from generate_series(1, 2) n`
    await startRunner(t, kindOf(run, { subjects }))
    await until('one runs', () => begun.length > 0)
    assert.deepEqual(begun, ['2'])
    assert.deepEqual(await column('select account_id from task order by key'), [0, 7])
  })
})

describe('times', () => {
  it('a run that names its next time runs again then, and not before', async (t) => {
    const { begun, open, run } = gatedRuns()
    await startRunner(t, kindOf(run), { pollMs: 20 })
    await ask('a')
    await until('it runs', () => begun.length === 1)
    open('a', 600_000)
    await until('it waits', async () => (await waiting()).length === 1)
    await pass(599_000)
    assert.equal(begun.length, 1)
    await pass(1_000)
    await until('it runs again', () => begun.length === 2)
    assert.deepEqual(await column('select failures from task'), [0])
  })

  it('a task that is due in a moment runs then without a look for lost notifications', async (t) => {
    const { begun, run } = gatedRuns()
    await startRunner(t, kindOf(run), { pollMs: 600_000 })
    await ask('a', { afterMs: 100 })
    await until('it runs', () => begun.length === 1)
  })

  it('a failed run is repeated after a back-off that grows, which asking does not shorten', async (t) => {
    let runs = 0
    const kind = kindOf(
      async () => {
        runs++
        throw new Error('no')
      },
      { retryMs: (failures) => failures * 60_000 },
    )
    await startRunner(t, kind, { pollMs: 20 })
    const state = async () => {
      const [row] = await column<[number, number]>(
        `select json_build_array(failures, round(extract(epoch from due_at - clock_timestamp()) / 60)) from task where lease is null`,
      )
      return row
    }
    await ask('a')
    await until('it failed', async () => (await state())?.[0] === 1)
    assert.deepEqual(await state(), [1, 1])
    await ask('a')
    assert.deepEqual(await state(), [1, 1])
    await pass(60_000)
    await until('it failed again', async () => (await state())?.[0] === 2)
    assert.deepEqual(await state(), [2, 2])
    assert.equal(runs, 2)
  })

  it('a kind that counts failures itself names the next run and the failures', async (t) => {
    let runs = 0
    const kind = kindOf(async () => {
      runs++
      return { againMs: 600_000, failures: 4 - runs }
    })
    await startRunner(t, kind, { pollMs: 20 })
    await ask('a')
    const state = (failures: number) =>
      until(`${failures} failures`, async () => {
        const found = await column(
          `select due_at > clock_timestamp() + interval '9 minutes' from task where lease is null and failures = $1`,
          failures,
        )
        return found.length > 0 && found
      })
    assert.deepEqual(await state(3), [true])
    await ask('a')
    assert.deepEqual(await state(3), [true], 'asking does not shorten the wait')
    await pass(600_000)
    assert.deepEqual(await state(2), [true])
  })

  it('without a back-off of its own, a kind retries after 5 seconds, then 10, and at most every 10 minutes', async (t) => {
    await startRunner(
      t,
      kindOf(async () => {
        throw new Error('no')
      }),
      { pollMs: 20 },
    )
    await ask('a')
    for (const seconds of [5, 10, 20, 40, 80, 160, 320, 600, 600]) {
      const due = async () => {
        const [found] = await column<number>(
          `select ceil(extract(epoch from due_at - clock_timestamp()))::float8 from task where lease is null and failures > 0`,
        )
        return found !== undefined && found > 0 && found
      }
      assert.equal(await until('it failed', due), seconds)
      await pass(600_000)
      await until('it runs again', async () => (await due()) !== false)
    }
  })
})

describe('leases', () => {
  it('two runners never work on one task at once', async (t) => {
    const atWork = new Set<string>()
    let runs = 0
    const run = async ({ key }: Task) => {
      assert(!atWork.has(key))
      atWork.add(key)
      await pool.query('select pg_sleep(0.01)')
      atWork.delete(key)
      runs++
      return runs < 200 ? 0 : null
    }
    await Promise.all([startRunner(t, kindOf(run)), startRunner(t, kindOf(run))])
    for (let key = 0; key < 10; key++) await ask(key)
    await until('they are done', async () => (await column('select 1 from task')).length === 0)
    assert(runs >= 200)
  })

  it('a run longer than its lease keeps the task', async (t) => {
    const { begun, open, run } = gatedRuns()
    await startRunner(t, kindOf(run), { leaseMs: 900, pollMs: 20 })
    await startRunner(t, kindOf(run), { leaseMs: 900, pollMs: 20 })
    await ask('a')
    await until('it runs', () => begun.length === 1)
    const [first] = await column<Date>('select lease_until from task')
    await until('it was renewed', async () => {
      const [now] = await column<Date>('select lease_until from task')
      return now!.getTime() > first!.getTime() + 900
    })
    assert.equal(begun.length, 1)
    open('a')
  })

  it('a run whose lease ended is aborted, and another runner has its task; what the first brings is dropped', async (t) => {
    const { run, begun, open } = gatedRuns()
    const lost = Promise.withResolvers<Task>()
    const stuck: TaskKind['run'] = (task, signal) => {
      const { promise, resolve } = Promise.withResolvers<number | null>()
      signal.addEventListener('abort', () => {
        lost.resolve(task)
        resolve(null)
      })
      return promise
    }
    await startRunner(t, kindOf(stuck, { slots: 1 }), { leaseMs: 60_000 })
    await ask('a')
    await until('it is taken', async () => (await running()).length === 1)
    await pass(60_001)
    await startRunner(t, kindOf(run), { leaseMs: 300 })
    await until('the other has it', () => begun.length === 1)
    const [failures] = await column<number>('select failures from task')
    assert.equal(failures, 1, 'the death of a node counts as a failure')
    const held = await column<string>('select lease from task')
    const dead: Task = {
      kind: 'test',
      key: 'a',
      accountId: 0,
      payload: {},
      failures: 0,
      lease: crypto.randomUUID(),
    }
    assert.equal(await transaction(pool, (client) => lockLease(client, dead)), false)
    assert.equal(await transaction(pool, (client) => lockLease(client, { ...dead, lease: held[0]! })), true)
    open('a')
    await until('it is gone', async () => (await column('select 1 from task')).length === 0)
  })

  it('a node that was killed with SIGKILL loses its task to another when its lease ends', async (t) => {
    const program = `
      import { createListener } from '@prepaint/postgres/listener.ts'
      import { createPool } from '@prepaint/postgres/database.ts'
      import { TaskRunner } from '@prepaint/postgres/tasks'
      import { silentLog } from '@prepaint/runtime/log.ts'
      const connection = { ...${JSON.stringify(connection)}, types: undefined }
      const runner = new TaskRunner(createPool(connection, silentLog()), await createListener(connection, silentLog()), silentLog(), { leaseMs: 1_000 })
      runner.add({
        name: 'test', slots: 1, perAccount: 1, faultMessage: '', subjects: ${JSON.stringify(NO_SUBJECTS)},
        run: () => { console.log('runs'); return new Promise(() => {}) },
      })
      runner.start()`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      ...{ cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] },
    })
    t.after(() => child.kill('SIGKILL'))
    await ask('a')
    await once(child.stdout!, 'data')
    const { begun, run } = gatedRuns()
    await startRunner(t, kindOf(run), { pollMs: 100 })
    child.kill('SIGKILL')
    await until('the other has it', () => begun.length === 1)
  })

  it('a runner that closes gives back what it works on: another has it at once, and it counts as no failure', async (t) => {
    const one = gatedRuns()
    const other = gatedRuns()
    const first = await startRunner(t, kindOf(one.run))
    await ask('a')
    await until('it runs', () => one.begun.length === 1)
    await startRunner(t, kindOf(other.run), { pollMs: 600_000 })
    await first.close()
    await until('the other has it', () => other.begun.length === 1)
    assert.deepEqual(await column('select failures from task'), [0])
  })
})

describe('fairness', () => {
  it('60 tasks of 20 accounts are done with the first 130, beside an account with 2,000 older ones', async (t) => {
    await pool.query(
      `insert into task (kind, key, account_id, due_at)
       select 'test', 'large ' || n, 1, now() - interval '1 hour' from generate_series(1, 2000) n
       union all select 'test', 'small ' || n, 2 + n % 20, now() from generate_series(1, 60) n`,
    )
    const ran: string[] = []
    const enough = Promise.withResolvers<void>()
    const runner = await startRunner(
      t,
      kindOf(async ({ key }) => {
        ran.push(key)
        if (ran.filter((each) => each.startsWith('small')).length === 60) enough.resolve()
        return null
      }),
    )
    await enough.promise
    await runner.close()
    assert(ran.length <= 130, `${ran.length}`)
  })

  it('four runners together never exceed the limit of an account, and reach it', async (t) => {
    let most = 0
    const atWork = new Map<number, number>()
    const kind = kindOf(
      async ({ accountId }) => {
        const count = (atWork.get(accountId) ?? 0) + 1
        atWork.set(accountId, count)
        most = Math.max(most, count)
        await pool.query('select pg_sleep(0.005)')
        atWork.set(accountId, atWork.get(accountId)! - 1)
        return null
      },
      { perAccount: 3 },
    )
    await pool.query(
      `insert into task (kind, key, account_id) select 'test', n, 1 + n % 2 from generate_series(1, 200) n`,
    )
    await Promise.all([1, 2, 3, 4].map(() => startRunner(t, kind)))
    await until('they are done', async () => (await column('select 1 from task')).length === 0)
    assert.equal(most, 3)
  })

  it('a runner works on as many tasks as it has slots, and not on more', async (t) => {
    const { begun, open, run } = gatedRuns()
    await startRunner(t, kindOf(run, { slots: 2 }), { pollMs: 20 })
    for (const key of ['a', 'b', 'c']) await ask(key)
    await until('two run', () => begun.length === 2)
    assert.deepEqual(await running(), ['a', 'b'])
    open('a')
    await until('the third runs', () => begun.length === 3)
    assert.deepEqual(await running(), ['b', 'c'])
  })

  it('tasks that failed before come after those that did not', async () => {
    await pool.query(
      `insert into task (kind, key, account_id, failures, due_at)
       values ('test', 'failed', 1, 3, now() - interval '1 hour'), ('test', 'new', 1, 0, now() - interval '1 second'),
              ('test', 'other', 2, 0, now())`,
    )
    const claim = () => column<string>(`select key from claim_tasks('test', 1, 9, '1 minute')`)
    assert.deepEqual([await claim(), await claim(), await claim()].flat(), ['new', 'other', 'failed'])
  })

  it('accounts take turns as if their recent tasks were under way, which does not count against their limit', async () => {
    await pool.query(
      `insert into task (kind, key, account_id, due_at)
       select 'test', 'recent ' || n, 1, now() - interval '1 hour' from generate_series(1, 3) n
       union all select 'test', 'other', 2, now()`,
    )
    const claim = () => column<string>(`select key from claim_tasks('test', 1, 2, '1 minute', '{"1": 1}')`)
    const claimed = [await claim(), await claim(), await claim(), await claim()]
    assert.deepEqual(claimed, [['other'], ['recent 1'], ['recent 2'], []])
  })

  it('a kind that a runner does not know is left to others', async (t) => {
    const { begun, run } = gatedRuns()
    await startRunner(t, kindOf(run), { pollMs: 20 })
    await ask('a', { kind: 'unknown' })
    await ask('b')
    await until('one runs', () => begun.length === 1)
    assert.deepEqual(await waiting(), ['a'])
  })
})

describe('running each part of a task', () => {
  it('a part that fails keeps no other from running, and its fault is thrown after the last', async () => {
    const ran: number[] = []
    const run = runEach([1, 2, 3], undefined, async (part) => {
      ran.push(part)
      if (part < 3) throw new Error(`no ${part}`)
    })
    await assert.rejects(run, { message: 'no 1' })
    assert.deepEqual(ran, [1, 2, 3])
  })

  it('no further part runs once the task is aborted, or the database is away', async () => {
    const aborting = new AbortController()
    const ran: number[] = []
    const aborted = runEach([1, 2], aborting.signal, async (part) => {
      ran.push(part)
      aborting.abort()
    })
    await assert.rejects(aborted, { name: 'AbortError' })
    const away = runEach([3, 4], undefined, async (part) => {
      ran.push(part)
      throw new Error('Connection terminated unexpectedly')
    })
    await assert.rejects(away, /Connection terminated/)
    assert.deepEqual(ran, [1, 3])
  })
})
