import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { until } from '../../../test/support/condition.ts'
import { silentLog } from '../../log.ts'
import { superviseBrowser } from './supervisor.ts'

const FOREVER = { renders: 1_000, ageMs: 1e9, memoryBytes: 1e12 }
const signal = new AbortController().signal

/** Browsers that can be made to fail; each is known by its number. */
function fakeBrowsers() {
  const state = {
    ...{ started: 0, alive: new Set<number>(), failStarts: 0 },
    ...{ answers: true, memoryBytes: 0, canOpenPages: true, checks: 0, kills: 0 },
    closing: Promise.resolve(),
  }
  const start = async () => {
    if (state.failStarts > 0) {
      state.failStarts--
      throw new Error('no start today')
    }
    const number = ++state.started
    state.alive.add(number)
    const { promise: ended, resolve } = Promise.withResolvers<string>()
    const kill = async (why: string) => {
      state.kills++
      resolve(why)
      await state.closing
      state.alive.delete(number)
      return why
    }
    const process = {
      ended,
      kill,
      answers: async () => {
        state.checks++
        return state.answers || number > 1
      },
      memoryBytes: async () => (number === 1 ? state.memoryBytes : 0),
      parts: { canOpenPages: () => number > 1 || state.canOpenPages },
    }
    return { number, process, tabs: { close: async () => {} } }
  }
  return { state, start }
}

async function supervise(limits: Partial<typeof FOREVER> = {}) {
  const browsers = fakeBrowsers()
  const clock = { ms: 0, nowMs: () => clock.ms }
  const options = { start: browsers.start, limits: { ...FOREVER, ...limits }, clock, log: silentLog() }
  return { ...browsers, clock, supervisor: await superviseBrowser({ ...options, checkEveryMs: 5 }) }
}

/** The clock may move while a check is under way, so one is not enough. */
async function twoChecks({ state }: Supervised): Promise<void> {
  const before = state.checks
  await until('two checks', () => state.checks >= before + 2)
}

type Supervised = Awaited<ReturnType<typeof supervise>>

describe('a browser is replaced', () => {
  it('after its number of renders: the new one takes over, the old one ends with its last render', async () => {
    const { state, supervisor } = await supervise({ renders: 2 })
    const first = await supervisor.lease(signal)
    const second = await supervisor.lease(signal)
    assert.deepEqual([first.browser.number, second.browser.number], [1, 1])
    await until('the second browser', () => state.started === 2)
    const third = await supervisor.lease(signal)
    assert.equal(third.browser.number, 2)
    first.release()
    assert(state.alive.has(1), 'ended under a render')
    second.release()
    await until('the end of the first', () => !state.alive.has(1))
    third.release()
    await supervisor.close()
    assert.equal(state.alive.size, 0)
  })

  for (const [name, age] of Object.entries({
    'when it is old': ({ clock }: Supervised) => Object.assign(clock, { ms: 1_000 }),
    'when it has grown': ({ state }: Supervised) => Object.assign(state, { memoryBytes: 1_000 }),
    'when it gives no answer': ({ state }: Supervised) => Object.assign(state, { answers: false }),
  })) {
    it(name, async () => {
      const supervised = await supervise({ ageMs: 1_000, memoryBytes: 1_000 })
      const { supervisor } = supervised
      supervised.clock.ms = 999
      supervised.state.memoryBytes = 999
      const { browser, release } = await supervisor.lease(signal)
      assert.equal(browser.number, 1)
      release()
      age(supervised)
      await until('the second browser', () => supervised.state.started === 2)
      await until('the end of the first', () => !supervised.state.alive.has(1))
      await supervisor.close()
    })
  }

  it('when it can open no more pages: what it renders goes on, what comes waits for the next one', async () => {
    const { state, supervisor } = await supervise()
    const first = await supervisor.lease(signal)
    state.canOpenPages = false
    const second = await supervisor.lease(signal)
    assert.deepEqual([first.browser.number, second.browser.number], [1, 2])
    assert(state.alive.has(1), 'ended under a render')
    first.release()
    await until('the end of the first', () => !state.alive.has(1))
    second.release()
    await supervisor.close()
  })

  it('although it does not start at first; who waits gets the one that does', async () => {
    const { state, supervisor } = await supervise()
    const { browser, release } = await supervisor.lease(signal)
    state.failStarts = 2
    await browser.process.kill('crash')
    release()
    await until('the gap', () => !supervisor.healthy)
    assert.equal((await supervisor.lease(signal)).browser.number, 2)
    assert.equal(state.failStarts, 0)
    assert.equal(supervisor.healthy, true)
    await supervisor.close()
    assert.equal(supervisor.healthy, false)
  })
})

const TEN_MINUTES = 600_000

describe('a browser without renders', () => {
  it('is closed after ten minutes, which is no failure; the next render starts another one', async () => {
    const supervised = await supervise()
    const { state, clock, supervisor } = supervised
    const { release } = await supervisor.lease(signal)
    clock.ms = 3 * TEN_MINUTES
    await twoChecks(supervised)
    assert(state.alive.has(1), 'closed under a render')
    release()
    clock.ms += TEN_MINUTES - 1
    await twoChecks(supervised)
    assert(state.alive.has(1), 'closed too early')
    clock.ms += 1
    await until('the end of the browser', () => supervisor.alive === 0)
    assert.deepEqual([supervisor.healthy, supervisor.started, state.alive.size], [true, 1, 0])
    const leases = [supervisor.lease(signal), supervisor.lease(signal)]
    assert.equal(supervisor.healthy, true)
    const numbers = (await Promise.all(leases)).map(({ browser }) => browser.number)
    assert.deepEqual([numbers, supervisor.started], [[2, 2], 2])
    await supervisor.close()
  })

  it('does not get a render that comes while it is being closed; shutdown waits for its end', async () => {
    const { state, clock, supervisor } = await supervise()
    const { promise, resolve } = Promise.withResolvers<void>()
    state.closing = promise
    clock.ms = TEN_MINUTES
    await until('it is being closed', () => state.kills === 1)
    state.closing = Promise.resolve()
    assert(state.alive.has(1))
    const { browser, release } = await supervisor.lease(signal)
    assert.equal(browser.number, 2)
    release()
    let isClosed = false
    const closed = supervisor.close().then(() => {
      isClosed = true
    })
    await setImmediate()
    assert.deepEqual([isClosed, ...state.alive], [false, 1])
    resolve()
    await closed
    assert.equal(state.alive.size, 0)
  })
})

it('waiting for a browser ends when the signal says so', async () => {
  const { state, supervisor } = await supervise()
  state.failStarts = 1_000
  await (await supervisor.lease(signal)).browser.process.kill('crash')
  await until('the gap', () => !supervisor.healthy)
  await assert.rejects(supervisor.lease(AbortSignal.timeout(20)), { name: 'TimeoutError' })
  await supervisor.close()
})
