/** When Chromium is told to let a page's clock stand. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { VirtualClock } from './virtual-clock.ts'

/** A clock of a page that does not answer; what it was told, and the event that a budget has expired. */
async function openClock() {
  const told: string[] = []
  let events: CdpListeners = {}
  const session: CdpSession = {
    send: async (_method, ...params) => {
      told.push((params as [{ policy: string }])[0].policy)
      return {} as never
    },
    listen: (listeners) => {
      events = listeners
    },
  }
  const browser = { send: async () => ({ sessionId: 'clock' }), listen() {} } as unknown as CdpSession
  const clock = await VirtualClock.open({ browser, session: () => session, endSession() {} }, 'page')
  const budgetExpired = () => events['Emulation.virtualTimeBudgetExpired']?.(undefined)
  return { clock, told, budgetExpired }
}

it('a clock is told to stand only where it does not: it does when what was granted is used up', async () => {
  const { clock, told, budgetExpired } = await openClock()
  await clock.pause()
  await clock.pause()
  await clock.grant('advance', 5)
  await clock.grant('advance', 5)
  budgetExpired()
  // The other grant goes on.
  await clock.pause()
  budgetExpired()
  await clock.pause()
  await clock.grant('advance', 5)
  budgetExpired()
  await clock.pause()
  assert.deepEqual(told, ['pause', 'advance', 'advance', 'advance', 'pause', 'advance'])
})

it('a budget that an early end left over is not taken for the last one', async () => {
  const { clock, budgetExpired } = await openClock()
  const ended: string[] = []
  for (const [name, ms] of [
    ['left over', 300],
    ['short', 100],
  ] as const) {
    const { expired } = await clock.grant('advance', ms)
    void expired.then(() => ended.push(name))
  }
  for (const names of [['short'], ['short', 'left over']]) {
    budgetExpired()
    await new Promise(setImmediate)
    assert.deepEqual(ended, names)
  }
})
