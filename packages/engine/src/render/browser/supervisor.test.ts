import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { Supervisor } from './supervisor.ts'

const LIMITS = { renders: 1_000, ageMs: 1e9, memoryBytes: 1e12 }
const signal = new AbortController().signal

/** A supervisor of browsers that can be made to fail; each is known by its number. */
async function supervise(t: TestContext, limits: Partial<typeof LIMITS> = {}) {
  const clock = { ms: 0, nowMs: () => clock.ms }
  const state = {
    started: 0,
    alive: new Set<number>(),
    failStarts: 0,
    answers: true,
    memoryBytes: 0,
    canOpenPages: true,
    checks: 0,
  }
  const start = async () => {
    if (state.failStarts-- > 0) throw new Error('no start today')
    const number = ++state.started
    state.alive.add(number)
    const { promise: ended, resolve } = Promise.withResolvers<string>()
    const kill = async (why: string) => {
      resolve(why)
      state.alive.delete(number)
      return why
    }
    const answers = async () => {
      state.checks++
      return state.answers || number > 1
    }
    const memoryBytes = async () => (number === 1 ? state.memoryBytes : 0)
    const parts = { canOpenPages: () => number > 1 || state.canOpenPages }
    const process = { ended, kill, answers, memoryBytes, parts }
    return { number, process, tabs: { close: async () => {} } }
  }
  const options = { limits: { ...LIMITS, ...limits }, checkEveryMs: 5 }
  const supervisor = await Supervisor.start(start, clock, silentLog(), options)
  t.after(() => supervisor.close())
  return {
    state,
    clock,
    supervisor,
    lease: () => supervisor.lease(signal),
    endOf: (number: number) => until(`the end of ${number}`, () => !state.alive.has(number)),
    /** The clock may move while a check is under way, so one is not enough. */
    async twoChecks() {
      const before = state.checks
      await until('two checks', () => state.checks >= before + 2)
    },
  }
}

type Supervised = Awaited<ReturnType<typeof supervise>>

describe('a browser is replaced', () => {
  it('after its number of renders: the new one takes over, the old one ends with its last render', async (t) => {
    const { state, supervisor, lease, endOf } = await supervise(t, { renders: 2 })
    const [first, second] = [await lease(), await lease()]
    assert.deepEqual([first.browser.number, second.browser.number], [1, 1])
    await until('the second browser', () => state.started === 2)
    const third = await lease()
    assert.equal(third.browser.number, 2)
    first.release()
    assert(state.alive.has(1), 'ended under a render')
    second.release()
    await endOf(1)
    third.release()
    await supervisor.close()
    assert.equal(state.alive.size, 0)
  })

  for (const [name, age] of Object.entries({
    'when it is old': ({ clock }: Supervised) => Object.assign(clock, { ms: 1_000 }),
    'when it has grown': ({ state }: Supervised) => Object.assign(state, { memoryBytes: 1_000 }),
    'when it can open no more pages': ({ state }: Supervised) =>
      Object.assign(state, { canOpenPages: false }),
    'when it gives no answer': ({ state }: Supervised) => Object.assign(state, { answers: false }),
  })) {
    it(name, async (t) => {
      const supervised = await supervise(t, { ageMs: 1_000, memoryBytes: 1_000 })
      supervised.clock.ms = 999
      supervised.state.memoryBytes = 999
      await supervised.twoChecks()
      const { browser, release } = await supervised.lease()
      assert.equal(browser.number, 1)
      release()
      age(supervised)
      await until('the second browser', () => supervised.state.started === 2)
      await supervised.endOf(1)
    })
  }

  it('although it does not start at first; who waits gets the one that does, or leaves by its signal', async (t) => {
    const { state, supervisor, lease } = await supervise(t)
    const { browser, release } = await lease()
    state.failStarts = 1_000
    await browser.process.kill('crash')
    release()
    await until('the gap', () => !supervisor.healthy)
    await assert.rejects(supervisor.lease(AbortSignal.timeout(20)), { name: 'TimeoutError' })
    const next = lease()
    state.failStarts = 1
    assert.equal((await next).browser.number, 2)
    assert.equal(supervisor.healthy, true)
    await supervisor.close()
    assert.equal(supervisor.healthy, false)
  })
})

const TEN_MINUTES = 600_000

describe('a browser without renders', () => {
  it('is closed after ten minutes, which is no failure; the next render starts another one', async (t) => {
    const { state, clock, supervisor, lease, twoChecks } = await supervise(t)
    const { release } = await lease()
    clock.ms = 3 * TEN_MINUTES
    await twoChecks()
    assert(state.alive.has(1), 'closed under a render')
    release()
    clock.ms += TEN_MINUTES - 1
    await twoChecks()
    assert(state.alive.has(1), 'closed too early')
    clock.ms += 1
    await until('the end of the browser', () => supervisor.alive === 0)
    assert.deepEqual([supervisor.healthy, supervisor.started, state.alive.size], [true, 1, 0])
    const leases = [lease(), lease()]
    assert.equal(supervisor.healthy, true)
    const numbers = (await Promise.all(leases)).map(({ browser }) => browser.number)
    assert.deepEqual([numbers, supervisor.started], [[2, 2], 2])
  })
})
