import assert from 'node:assert/strict'
import { it } from 'node:test'

import { type Channel, Renewals } from './request.ts'

/** Two windows of one browser; what one says the other hears at once. */
function windows() {
  const make = (): Channel => ({ onmessage: null, postMessage: () => {} })
  const [here, there] = [make(), make()]
  here.postMessage = (data) => there.onmessage?.(new MessageEvent('message', { data }))
  there.postMessage = (data) => here.onmessage?.(new MessageEvent('message', { data }))
  const [ours, theirs] = [new Renewals(), new Renewals()]
  ours.join(here)
  theirs.join(there)
  return { ours, theirs }
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

it('another window waits for the new cookie', async () => {
  const { ours, theirs } = windows()
  const { promise, resolve } = Promise.withResolvers<null>()
  const renewed = ours.renew(() => promise)
  const waiting = theirs.settled()
  assert.equal(await isSettled(waiting), false)
  assert.deepEqual([ours.count, theirs.count], [0, 0])
  resolve(null)
  await renewed
  await waiting
  assert.deepEqual([ours.count, theirs.count], [1, 1])
})

it('a refused change counts in no window', async () => {
  const { ours, theirs } = windows()
  await assert.rejects(ours.renew(() => Promise.reject(new Error('wrong password'))))
  await theirs.settled()
  await ours.settled()
  assert.deepEqual([ours.count, theirs.count], [0, 0])
})

it('waiting for a window that was closed times out', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { ours, theirs } = windows()
  void ours.renew(() => new Promise(() => {}))
  const waiting = theirs.settled()
  t.mock.timers.tick(14_999)
  assert.equal(await isSettled(waiting), false)
  t.mock.timers.tick(1)
  await waiting
  assert.equal(theirs.count, 0)
})
