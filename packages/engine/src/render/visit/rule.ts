import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ruleMaySet } from '@prepaint/contract/headers.ts'
import type { RenderOutcome, RenderRequest, RenderRule } from '@prepaint/contract/outcome/outcome.ts'
import type { RuleChange } from '@prepaint/contract/rules/schema.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { CdpSession } from '../browser/cdp.ts'
import type { Page } from '../tab/page.ts'
import type { NetworkActivity } from '../time/network-activity.ts'
import type { RenderClock } from '../time/virtual-clock.ts'
import { makeWorld, type Snapshot } from './snapshot.ts'

const SCRIPT = readFileSync(path.join(import.meta.dirname, '../in-page', 'rule.js'), 'utf8')

/** Steps are of different length, so that an element which comes and goes at regular times is met. */
const STEPS_MS = [100, 170, 130]
/** Real time between steps: for databases, sockets and workers, which do not follow the page's clock. */
const PAUSE_MS = 10

type Waiting = {
  session: CdpSession
  page: Page
  clock: RenderClock
  activity: Pick<NetworkActivity, 'isClockHeld'>
  nowMs(): number
  /** Real time at which the wait ends. */
  untilMs: number
  /** How long the page's clock may run on until an element matches `wait_for`. */
  pageMs: number
}

/** Returns whether the page runs on after it says that it is ready. */
export function doesWait({ rule }: Pick<RenderRequest, 'rule'>): boolean {
  return rule?.waitFor !== undefined || (rule?.waitMs ?? 0) > 0
}

/** Lets the page's clock run on as its rule says. Returns what the page lacks then, or null. */
export async function lackOfRule(
  { rule: { waitFor, waitMs = 0 } = { index: 0 } }: Pick<RenderRequest, 'rule'>,
  { session, page, clock, activity, nowMs, untilMs, pageMs }: Waiting,
): Promise<string | null> {
  const run = async (ms: number): Promise<void> => {
    const policy = activity.isClockHeld() ? 'advance' : 'pauseIfNetworkFetchesPending'
    const { expired } = await clock.grant(policy, ms)
    await within(untilMs - nowMs(), expired, 'late')
    await clock.pause()
  }
  let passedMs = 0
  for (let step = 0; waitFor !== undefined; step++) {
    const contextId = page.ownWorld ?? (await makeWorld(session, page.frameId))
    // The clock stands, so that what is there now is in the snapshot.
    if (await isThere(session, contextId, waitFor)) break
    if (passedMs >= pageMs || nowMs() >= untilMs) return `no element matches ${waitFor}`
    await delay(PAUSE_MS)
    const ms = STEPS_MS[step % STEPS_MS.length]!
    await run(ms)
    passedMs += ms
  }
  if (waitMs > 0) await run(waitMs)
  return null
}

async function isThere(session: CdpSession, contextId: number, selector: string): Promise<boolean> {
  const { result } = await session.send('Runtime.evaluate', {
    expression: `(() => {${SCRIPT}\nreturn isThere(${JSON.stringify(selector)})})()`,
    contextId,
    returnByValue: true,
  })
  return result.value === true
}

/** Returns the rule's change of the page, with the absolute canonical URL. */
export function changeOf({ rule }: Pick<RenderRequest, 'rule'>, url: string): RuleChange | null {
  const { change } = rule ?? {}
  if (change === undefined) return null
  if (change.head?.canonical !== 'self') return change
  return { ...change, head: { ...change.head, canonical: url } }
}

/** The page was judged as it is; what is stored is as the rule wants it. `url`: the page's public address. */
export function withChanges(
  outcome: RenderOutcome,
  { snapshot, rule, url }: { snapshot: Snapshot; rule: RenderRule | undefined; url: string },
): RenderOutcome {
  if (outcome.kind !== 'rendered' || snapshot.kind !== 'html' || rule === undefined) return outcome
  const wanted = Object.entries(rule.change?.headers ?? {}).filter(([name]) => ruleMaySet(name))
  const names = new Set(wanted.map(([name]) => name.toLowerCase()))
  const headers = [...outcome.headers.filter(([name]) => !names.has(name.toLowerCase())), ...wanted]
  const none = { removed: [], consent: 0, head: [] }
  const { html, changes } = snapshot.changed ?? { html: outcome.html, changes: none }
  const reading = html === outcome.html ? outcome.reading : readPage(html, url)
  const named = { ...changes, rule: rule.index, headers: wanted.map(([name]) => name) }
  return { ...outcome, changed: { html, headers, reading, changes: named } }
}
