/** A page's clock, and the date that pages are told, however long their process has been used or has rested. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { openRenderer, scripted } from '../../../../../test/support/renderer.ts'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { VirtualClock } from './virtual-clock.ts'

const DAY_MS = 24 * 3_600_000

/** The world's clock, set by hand. */
let aheadOfWorldMs = 0
const clock = { nowMs: () => systemClock.nowMs() + aheadOfWorldMs }
const { routes, shown } = await openRenderer({ slots: 1, clock })

const FORMAT = `new Intl.DateTimeFormat('en-US', { dateStyle: 'short', timeStyle: 'long', timeZone: 'UTC' })`
/** Ways in which a worker can ask for the date, as milliseconds since the epoch. */
const WORKER_WAYS = `
  now: Date.now(),
  timeOrigin: performance.timeOrigin + performance.now(),
  instant: Temporal.Now.instant().epochMilliseconds,
  format: Date.parse(${FORMAT}.format().replace(',', '')),`
/** A page has more. */
const WAYS = `${WORKER_WAYS}
  'Date()': Date.parse(Date()),
  'a class of its own': new (class extends Date {})().getTime(),
  'timeOrigin in JSON': performance.toJSON().timeOrigin + performance.now(),
  'the start of the navigation': performance.timing.navigationStart + performance.now(),
  formatToParts: Date.parse(${FORMAT}.formatToParts().map(({ value }) => value).join('').replace(',', '')),
  zoned: Temporal.Now.zonedDateTimeISO('Asia/Tokyo').epochMilliseconds,
  'plain date and time': Temporal.Now.plainDateISO('UTC').toZonedDateTime({ timeZone: 'UTC', plainTime: Temporal.Now.plainTimeISO('UTC') }).epochMilliseconds,
  'in a frame': document.body.appendChild(document.createElement('iframe')).contentWindow.Date.now(),`

/** What each line of the page was told is of the time of its render, and of `slackMs` after that. */
async function assertTrueDates(path: string, slackMs: number, lines: number, ways: number): Promise<void> {
  // Texts have no milliseconds.
  const earliestMs = clock.nowMs() - 1_500
  const told: Record<string, number>[] = (await shown(path)).map((line) => JSON.parse(line))
  const latestMs = clock.nowMs() + slackMs
  assert.deepEqual([told.length, told.flatMap(Object.keys).length], [lines, lines * ways])
  const wrong = told.flatMap(Object.entries<number>).filter(([, ms]) => !(ms >= earliestMs && ms <= latestMs))
  assert.deepEqual(wrong, [], `not from ${earliestMs} to ${latestMs}`)
}

describe('the date that a page is told', () => {
  it('is true in its workers too, and in theirs', async () => {
    const worker = (script: string) =>
      `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(script)}])))`
    const inner = `postMessage({${WORKER_WAYS}})`
    const outer = `${inner}; ${worker(inner)}.onmessage = ({ data }) => postMessage(data)`
    routes.set('/workers', scripted(`${worker(outer)}.onmessage = ({ data }) => show(JSON.stringify(data))`))
    // While they are waited for, the page's clock goes on by seconds. By now it is half a minute ahead.
    for (let render = 0; render < 2; render++) await assertTrueDates('/workers', 8_000, 2, 4)
  })

  it('is true at once, after a rest of a minute and of ten days, and when the clock of the machine was set back', async () => {
    routes.set('/date', scripted(`show(JSON.stringify({${WAYS}}))`))
    for (const restMs of [0, 60_000, 10 * DAY_MS, -DAY_MS, 0]) {
      aheadOfWorldMs += restMs
      await assertTrueDates('/date', 500, 1, 12)
    }
  })
})

it('a budget that an early end left over is not taken for the last one', async () => {
  let events: CdpListeners = {}
  const session = {
    send: async () => ({}),
    listen(listeners: CdpListeners) {
      events = listeners
    },
  } as unknown as CdpSession
  const browser = { send: async () => ({ sessionId: 'clock' }), listen() {} } as unknown as CdpSession
  const clock = await VirtualClock.open({ browser, session: () => session, endSession() {} }, 'page')
  const ended: string[] = []
  for (const [name, ms] of [
    ['left over', 300],
    ['short', 100],
  ] as const) {
    const { expired } = await clock.grant('advance', ms)
    void expired.then(() => ended.push(name))
  }
  for (const names of [['short'], ['short', 'left over']]) {
    events['Emulation.virtualTimeBudgetExpired']?.(undefined)
    await new Promise(setImmediate)
    assert.deepEqual(ended, names)
  }
})
