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

it('only where it does not stand: it does when what was granted is used up', async () => {
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
