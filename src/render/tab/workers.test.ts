/** Which workers are watched. What they do, and that it is waited for, is in the corpus (test/render/corpus/streams.ts). */
import assert from 'node:assert/strict'
import { it } from 'node:test'

import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { NetworkActivity } from '../time/network-activity.ts'
import { WATCHED_LIMIT, Workers } from './workers.ts'

/** Sessions whose workers never answer; what each was sent. */
function silentWorkers() {
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
  return { connection, sent, ended, heard }
}

/** One that answers at once. */
const page: Pick<CdpSession, 'send'> = { send: (_method, ..._params) => Promise.resolve({} as never) }

const attach = (listeners: CdpListeners | undefined, sessionId: string) =>
  listeners?.['Target.attachedToTarget']?.({
    sessionId,
    waitingForDebugger: true,
    targetInfo: {
      targetId: sessionId,
      type: 'worker',
      title: '',
      url: '',
      attached: true,
      canAccessOpener: false,
    },
  })

it('so many, and the next one runs unwatched', () => {
  const { connection, sent } = silentWorkers()
  const { listeners } = new Workers({ connection, activity: new NetworkActivity(() => 0), page })
  for (let n = 1; n <= WATCHED_LIMIT + 1; n++) attach(listeners, String(n))
  assert.deepEqual(sent.get(String(WATCHED_LIMIT)), [
    'Network.enable',
    'Target.setAutoAttach',
    'Runtime.evaluate',
    'Runtime.runIfWaitingForDebugger',
    'Runtime.evaluate',
  ])
  assert.deepEqual(sent.get(String(WATCHED_LIMIT + 1)), ['Runtime.runIfWaitingForDebugger'])
})

it("a worker's workers too, and each session ends with its worker", () => {
  const { connection, sent, ended, heard } = silentWorkers()
  attach(new Workers({ connection, activity: new NetworkActivity(() => 0), page }).listeners, 'outer')
  attach(heard.get('outer'), 'inner')
  assert(sent.get('inner')?.includes('Network.enable'))
  heard.get('outer')?.['Target.detachedFromTarget']?.({ sessionId: 'inner' })
  assert.deepEqual(ended, ['inner'])
})

it('a request of a worker is waited for as one of the page', () => {
  const { connection, heard } = silentWorkers()
  const activity = new NetworkActivity(() => 0)
  attach(new Workers({ connection, activity, page }).listeners, 'w')
  const request = { method: 'GET', url: 'https://a.example/data' }
  heard.get('w')?.['Network.requestWillBeSent']?.({ requestId: '1', request, type: 'Fetch' } as never)
  assert.equal(activity.isBusy(), true)
  heard.get('w')?.['Network.loadingFinished']?.({ requestId: '1' } as never)
  assert.equal(activity.isBusy(), false)
})

it("a worker's script is loaded when its own session says so, under the name that the page's request had", () => {
  const { connection, heard } = silentWorkers()
  const activity = new NetworkActivity(() => 0)
  const { listeners } = new Workers({ connection, activity, page })
  const request = { method: 'GET', url: 'https://a.example/worker.js', type: 'Script' }
  activity.started('w', request)
  attach(listeners, 'w')
  assert.equal(activity.isBusy(), true)
  heard.get('w')?.['Network.loadingFinished']?.({ requestId: 'w' } as never)
  assert.deepEqual([activity.isBusy(), activity.isStreaming()], [false, true])
})

it('nothing of a worker that has ended is waited for, nor one whose script failed', () => {
  for (const end of ['Target.detachedFromTarget', 'Network.loadingFailed'] as const) {
    const { connection, ended, heard } = silentWorkers()
    const activity = new NetworkActivity(() => 0)
    const { listeners } = new Workers({ connection, activity, page })
    activity.started('w', { method: 'GET', url: 'https://a.example/worker.js', type: 'Script' })
    attach(listeners, 'w')
    const request = { method: 'GET', url: 'https://a.example/data' }
    heard.get('w')?.['Network.requestWillBeSent']?.({ requestId: '1', request, type: 'Fetch' } as never)
    if (end === 'Network.loadingFailed') heard.get('w')?.[end]?.({ requestId: 'w' } as never)
    else listeners[end]?.({ sessionId: 'w' })
    assert.equal(activity.isBusy(), false, end)
    assert.deepEqual(ended, ['w'])
  }
})

it('a worker computes that gives no answer, when its page gives one', async () => {
  for (const [pageAnswers, isBusy] of [
    [true, true],
    [false, false],
  ]) {
    const { connection } = silentWorkers()
    const { promise: asked, resolve: tell } = Promise.withResolvers<void>()
    const activity = new NetworkActivity(() => 0)
    activity.workerStarted()
    const answering: Pick<CdpSession, 'send'> = {
      send: (_method, ..._params) => {
        tell()
        return pageAnswers ? Promise.resolve({} as never) : new Promise<never>(() => {})
      },
    }
    attach(new Workers({ connection, activity, page: answering }).listeners, 'w')
    await asked
    await new Promise(setImmediate)
    assert.equal(activity.isBusy(), isBusy)
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
