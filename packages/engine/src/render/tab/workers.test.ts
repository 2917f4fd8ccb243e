/** Which workers are watched. What they do, and that it is waited for, is in the corpus (test/render/corpus/network.ts). */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { NetworkActivity } from '../time/network-activity.ts'
import { ContextWorkers, WATCHED_LIMIT, Workers } from './workers.ts'

/** A page whose workers answer like this; what each of them was sent, by its session. */
function watch(answer: () => Promise<never>, limit = WATCHED_LIMIT) {
  const sent: [session: string, method: string][] = []
  const session = (id: string): CdpSession => ({
    send(method, ..._params) {
      sent.push([id, method])
      return answer()
    },
    listen() {},
  })
  const activity = new NetworkActivity(() => 0)
  const page = { send: async () => ({}) as never }
  const { listeners } = new Workers({ connection: { session, endSession() {} }, activity, page, limit })
  const attach = (sessionId: string) =>
    listeners['Target.attachedToTarget']?.({
      sessionId,
      waitingForDebugger: true,
      targetInfo: { targetId: sessionId, type: 'worker', title: '', url: '', attached: true } as never,
    })
  const sentTo = (id: number) => sent.flatMap(([to, method]) => (to === String(id) ? [method] : []))
  return { sentTo, activity, attach }
}

it('so many, and the next one runs unwatched', () => {
  const { sentTo, attach } = watch(() => new Promise(() => {}))
  for (let n = 1; n <= WATCHED_LIMIT + 1; n++) attach(String(n))
  assert.deepEqual(sentTo(WATCHED_LIMIT), [
    'Network.enable',
    'Target.setAutoAttach',
    'Runtime.evaluate',
    'Runtime.runIfWaitingForDebugger',
    'Runtime.evaluate',
  ])
  assert.deepEqual(sentTo(WATCHED_LIMIT + 1), ['Runtime.runIfWaitingForDebugger'])
})

it('a worker that ends while it is set up does no harm', async () => {
  for (const limit of [0, 1]) {
    const { activity, attach } = watch(() => Promise.reject(new Error('gone')), limit)
    attach('w')
    // An unhandled rejection fails this test.
    await new Promise(setImmediate)
    assert.equal(activity.isBusy(), false)
  }
})

it('a shared worker is told to its own context, and to no other', async () => {
  const heard: CdpListeners = {}
  const listen = (listeners: CdpListeners) => void Object.assign(heard, listeners)
  const contexts = await ContextWorkers.follow({ send: async () => ({}) as never, listen })
  const told: string[] = []
  for (const id of ['a', 'b']) contexts.listen(id, { 'Target.attachedToTarget': () => void told.push(id) })
  const targetInfo = { type: 'shared_worker', browserContextId: 'a' }
  heard['Target.attachedToTarget']?.({ sessionId: '1', targetInfo } as never)
  assert.deepEqual(told, ['a'])
})
