/** Which workers are watched. What they do, and that it is waited for, is in the corpus (test/render/corpus/network.ts). */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { NetworkActivity } from '../time/network-activity.ts'
import type { RenderClock } from '../time/virtual-clock.ts'
import { followContextWorkers, inStepWith, WATCHED_LIMIT, type Wake, Workers } from './workers.ts'

type Answer = () => Promise<unknown>
const atOnce: Answer = async () => ({})
const never: Answer = () => new Promise(() => {})

function fakeSession(answer: Answer) {
  const fake = { sent: [] as string[], heard: {} as CdpListeners }
  const session: CdpSession = {
    send(method, ..._params) {
      fake.sent.push(method)
      return answer() as Promise<never>
    },
    listen: (listeners) => Object.assign(fake, { heard: listeners }),
  }
  return Object.assign(fake, { session })
}

/** The workers of a page, by the names of their sessions. */
function watch({ worker = never, page = atOnce, limit = WATCHED_LIMIT }) {
  const workers = new Map<string, ReturnType<typeof fakeSession>>()
  const ended: string[] = []
  const connection = {
    session(id: string) {
      workers.set(id, fakeSession(worker))
      return workers.get(id)!.session
    },
    endSession: (id: string) => void ended.push(id),
  }
  const activity = new NetworkActivity(() => 0)
  const { listeners } = new Workers({ connection, activity, page: fakeSession(page).session, limit })
  const listenersOf = (id: string) => workers.get(id)?.heard
  return { sentTo: (id: string) => workers.get(id)?.sent, ended, listenersOf, activity, listeners }
}
const DATA = {
  requestId: '1',
  request: { method: 'GET', url: 'https://a.example/data' },
  type: 'Fetch',
} as never
const SCRIPT = { method: 'GET', url: 'https://a.example/worker.js', type: 'Script' }

const attach = (listeners: CdpListeners | undefined, sessionId: string, info: object = { type: 'worker' }) =>
  listeners?.['Target.attachedToTarget']?.({
    ...{ sessionId, waitingForDebugger: true },
    targetInfo: { targetId: sessionId, title: '', url: '', attached: true, ...info } as never,
  })

it('so many, and the next one runs unwatched', () => {
  const { sentTo, listeners } = watch({})
  for (let n = 1; n <= WATCHED_LIMIT + 1; n++) attach(listeners, String(n))
  assert.deepEqual(sentTo(String(WATCHED_LIMIT)), [
    ...['Network.enable', 'Target.setAutoAttach', 'Runtime.evaluate'],
    ...['Runtime.runIfWaitingForDebugger', 'Runtime.evaluate'],
  ])
  assert.deepEqual(sentTo(String(WATCHED_LIMIT + 1)), ['Runtime.runIfWaitingForDebugger'])
})

it('nothing of a worker that has ended is waited for, nor one whose script failed; a worker of a worker ends with its session', () => {
  for (const end of ['Target.detachedFromTarget', 'Network.loadingFailed'] as const) {
    const { ended, listenersOf, activity, listeners } = watch({})
    activity.started('w', SCRIPT)
    attach(listeners, 'w')
    const worker = listenersOf('w')
    worker?.['Network.requestWillBeSent']?.(DATA)
    if (end === 'Network.loadingFailed') worker?.[end]?.({ requestId: 'w' } as never)
    else listeners[end]?.({ sessionId: 'w' })
    assert.equal(activity.isBusy(), false, end)
    assert.deepEqual(ended, ['w'])
    attach(worker, 'inner')
    worker?.['Target.detachedFromTarget']?.({ sessionId: 'inner' })
    assert.deepEqual(ended, ['w', 'inner'])
  }
})

it('a worker computes that gives no answer, when its page gives one', async () => {
  for (const pageAnswers of [true, false]) {
    const { promise: asked, resolve: tell } = Promise.withResolvers<void>()
    const page: Answer = () => {
      tell()
      return pageAnswers ? atOnce() : never()
    }
    const { activity, listeners } = watch({ page })
    activity.workerStarted()
    attach(listeners, 'w')
    await asked
    await new Promise(setImmediate)
    assert.equal(activity.isBusy(), pageAnswers)
  }
})

it('a worker that ends while it is set up does no harm', async () => {
  for (const limit of [0, 1]) {
    const { activity, listeners } = watch({ worker: () => Promise.reject(new Error('gone')), limit })
    attach(listeners, 'w')
    // An unhandled rejection fails this test.
    await new Promise(setImmediate)
    assert.equal(activity.isBusy(), false)
  }
})

it('a shared worker is reported to its context, from its beginning to its end', async () => {
  const browser = fakeSession(atOnce)
  const attachIn = (id: string, browserContextId: string, type = 'shared_worker') =>
    attach(browser.heard, id, { type, browserContextId })
  const detach = (sessionId: string) => browser.heard['Target.detachedFromTarget']?.({ sessionId })
  const told: string[] = []
  const hearer = (name: string): CdpListeners => ({
    'Target.attachedToTarget': ({ sessionId }) => void told.push(`${name}: ${sessionId} began`),
    'Target.detachedFromTarget': ({ sessionId }) => void told.push(`${name}: ${sessionId} ended`),
  })

  const contextWorkers = await followContextWorkers(browser.session)
  assert.deepEqual(browser.sent, ['Target.setAutoAttach'])
  contextWorkers.listen('a', hearer('first of a'))
  contextWorkers.listen('a', hearer('a'))
  contextWorkers.listen('b', hearer('b'))
  attachIn('1', 'a')
  attachIn('2', 'b')
  attachIn('3', 'unknown')
  attachIn('4', 'a', 'page')
  detach('1')
  detach('1')
  contextWorkers.forget('b')
  detach('2')
  assert.deepEqual(told, ['a: 1 began', 'b: 2 began', 'a: 1 ended'])
})

it('no step of a grant follows the next grant', async () => {
  const told: string[] = []
  const never = new Promise<never>(() => {})
  const clock: RenderClock = {
    async pause() {},
    async grant(policy, budgetMs) {
      told.push(`${policy} ${budgetMs}`)
      return { expired: policy === 'advance' ? never : Promise.resolve('expired') }
    },
  }
  const workers: Wake[] = [async () => told.push('wake') > 0]
  const grant = inStepWith(() => workers, clock, { workersLeftMs: () => 1_000, clockMoved() {} })
  await grant('advance', 5_000)
  await new Promise(setImmediate)
  workers.length = 0
  await grant('pauseIfNetworkFetchesPending', 7)
  await new Promise(setImmediate)
  assert.deepEqual(told, ['wake', 'advance 100', 'pauseIfNetworkFetchesPending 7'])
})
