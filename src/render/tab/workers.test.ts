/** Which workers are watched. What they do, and that it is waited for, is in the corpus (test/render/corpus/requests.ts). */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { NetworkActivity } from '../time/network-activity.ts'
import type { RenderClock } from '../time/virtual-clock.ts'
import { followContextWorkers, inStepWith, WATCHED_LIMIT, type Wake, Workers } from './workers.ts'

/** One that answers at once. */
const page: Pick<CdpSession, 'send'> = { send: (_method, ..._params) => Promise.resolve({} as never) }

/** Sessions whose workers never answer; what each was sent. */
function silentWorkers(answering = page) {
  const sent = new Map<string, string[]>()
  const ended: string[] = []
  const heard = new Map<string, CdpListeners>()
  const connection = {
    session: (id: string): CdpSession => ({
      send: (method, ..._params) => {
        sent.set(id, [...(sent.get(id) ?? []), method])
        return new Promise<never>(() => {})
      },
      listen: (listeners) => void heard.set(id, listeners),
    }),
    endSession: (id: string) => void ended.push(id),
  }
  const activity = new NetworkActivity(() => 0)
  /** Events of the page, and of a worker by the name of its session. */
  const { listeners } = new Workers({ connection, activity, page: answering })
  const worker = (id: string) => heard.get(id)
  return { connection, sent, ended, worker, activity, listeners }
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
  const { sent, listeners } = silentWorkers()
  for (let n = 1; n <= WATCHED_LIMIT + 1; n++) attach(listeners, String(n))
  assert.deepEqual(sent.get(String(WATCHED_LIMIT)), [
    ...['Network.enable', 'Target.setAutoAttach', 'Runtime.evaluate'],
    ...['Runtime.runIfWaitingForDebugger', 'Runtime.evaluate'],
  ])
  assert.deepEqual(sent.get(String(WATCHED_LIMIT + 1)), ['Runtime.runIfWaitingForDebugger'])
})

it('nothing of a worker that has ended is waited for, nor one whose script failed; a worker of a worker ends with its session', () => {
  for (const end of ['Target.detachedFromTarget', 'Network.loadingFailed'] as const) {
    const { ended, worker, activity, listeners } = silentWorkers()
    activity.started('w', SCRIPT)
    attach(listeners, 'w')
    worker('w')?.['Network.requestWillBeSent']?.(DATA)
    if (end === 'Network.loadingFailed') worker('w')?.[end]?.({ requestId: 'w' } as never)
    else listeners[end]?.({ sessionId: 'w' })
    assert.equal(activity.isBusy(), false, end)
    assert.deepEqual(ended, ['w'])
    attach(worker('w'), 'inner')
    worker('w')?.['Target.detachedFromTarget']?.({ sessionId: 'inner' })
    assert.deepEqual(ended, ['w', 'inner'])
  }
})

it('a worker computes that gives no answer, when its page gives one', async () => {
  for (const pageAnswers of [true, false]) {
    const { promise: asked, resolve: tell } = Promise.withResolvers<void>()
    const send = () => {
      tell()
      return pageAnswers ? Promise.resolve({}) : new Promise(() => {})
    }
    const { activity, listeners } = silentWorkers({ send } as unknown as typeof page)
    activity.workerStarted()
    attach(listeners, 'w')
    await asked
    await new Promise(setImmediate)
    assert.equal(activity.isBusy(), pageAnswers)
  }
})

it('a worker that ends while it is set up does no harm', async () => {
  const refused: CdpSession = {
    send: (_method, ..._params) => Promise.reject(new Error('the page is gone')),
    listen: () => {},
  }
  const connection = { session: () => refused, endSession: () => {} }
  const activity = new NetworkActivity(() => 0)
  for (const limit of [0, 1]) attach(new Workers({ connection, activity, page, limit }).listeners, 'w')
  // An unhandled rejection fails this test.
  await new Promise(setImmediate)
  assert.equal(activity.isBusy(), false)
})

it('a shared worker is reported to its context, from its beginning to its end', async () => {
  let heard: CdpListeners = {}
  const sent: string[] = []
  const browser: CdpSession = {
    send: async (method, ..._params) => {
      sent.push(method)
      return {} as never
    },
    listen: (listeners) => {
      heard = listeners
    },
  }
  const attachIn = (id: string, browserContextId: string, type = 'shared_worker') =>
    attach(heard, id, { type, browserContextId })
  const told: string[] = []
  const hearer = (name: string): CdpListeners => ({
    'Target.attachedToTarget': ({ sessionId }) => void told.push(`${name}: ${sessionId} began`),
    'Target.detachedFromTarget': ({ sessionId }) => void told.push(`${name}: ${sessionId} ended`),
  })

  const contextWorkers = await followContextWorkers(browser)
  assert.deepEqual(sent, ['Target.setAutoAttach'])
  contextWorkers.listen('a', hearer('first of a'))
  contextWorkers.listen('a', hearer('a'))
  contextWorkers.listen('b', hearer('b'))
  attachIn('1', 'a')
  attachIn('2', 'b')
  attachIn('3', 'unknown')
  attachIn('4', 'a', 'page')
  heard['Target.detachedFromTarget']?.({ sessionId: '1' })
  heard['Target.detachedFromTarget']?.({ sessionId: '1' })
  contextWorkers.forget('b')
  heard['Target.detachedFromTarget']?.({ sessionId: '2' })
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
