import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { Protocol } from 'devtools-protocol'
import type { CdpConnection, CdpSession } from '../browser/cdp.ts'

/** Jump after this many tasks: a page that keeps posting messages to itself would stop the clock. */
const TASKS_WITHOUT_TIME = 20_000

/** The first stops the clock while anything loads; the second never. */
export type Policy = 'pauseIfNetworkFetchesPending' | 'advance'

export type RenderClock = Pick<VirtualClock, 'pause' | 'grant'>

type Grant = { leftMs: number; expire(result: 'expired'): void; expired: Promise<'expired'> }

type Connection = Pick<CdpConnection, 'browser' | 'session' | 'endSession'>

/**
 * Its session is replaced before each document. Otherwise Chromium reads the next document milliseconds late, when
 * the old session has told the clock to stand (docs/decisions/0015-render-speed.md).
 */
export class VirtualClock {
  readonly #cdp: Connection
  readonly #targetId: string
  #current: { sessionId: string; session: CdpSession }
  /** Budgets that have not expired, the last one at the end. Chromium keeps those that an early end left over. */
  #granted: Grant[] = []
  #policy: Policy = 'advance'
  #stands = false

  static async open(cdp: Connection, targetId: string): Promise<VirtualClock> {
    return new VirtualClock(cdp, targetId, await attach(cdp, targetId))
  }

  private constructor(cdp: Connection, targetId: string, first: { sessionId: string; session: CdpSession }) {
    this.#cdp = cdp
    this.#targetId = targetId
    this.#current = first
    this.#listen()
  }

  async pause(): Promise<void> {
    if (this.#stands) return
    this.#stands = true
    await this.#setPolicy({ policy: 'pause' })
  }

  /** Resolves at once; `expired` resolves when the budget is used up. */
  async grant(policy: Policy, budgetMs: number): Promise<{ expired: Promise<'expired'> }> {
    const { promise: expired, resolve: expire } = Promise.withResolvers<'expired'>()
    this.#granted.push({ leftMs: budgetMs, expire, expired })
    this.#policy = policy
    this.#stands = false
    await this.#setPolicy({
      policy,
      budget: budgetMs,
      maxVirtualTimeTaskStarvationCount: TASKS_WITHOUT_TIME,
    })
    return { expired }
  }

  /** Uses up time that an early end left over: Chromium cannot take it back, and it would stop the next render. */
  async drain(): Promise<void> {
    for (let last = this.#granted.at(-1); last !== undefined; last = this.#granted.at(-1)) {
      this.#policy = 'advance'
      await this.#setPolicy({ policy: 'advance' })
      await last.expired
    }
  }

  async renew(): Promise<void> {
    const { sessionId } = this.#current
    this.#current = await attach(this.#cdp, this.#targetId)
    this.#listen()
    await this.#cdp.browser.send('Target.detachFromTarget', { sessionId })
    this.#cdp.endSession(sessionId)
  }

  end(): void {
    this.#cdp.endSession(this.#current.sessionId)
  }

  #listen(): void {
    this.#current.session.listen({
      'Emulation.virtualTimeBudgetExpired': () => this.#expired(),
    })
  }

  #expired(): void {
    if (this.#granted.length === 0) return
    const leastMs = Math.min(...this.#granted.map(({ leftMs }) => leftMs))
    const at = this.#granted.findIndex(({ leftMs }) => leftMs === leastMs)
    const [ended] = this.#granted.splice(at, 1)
    for (const grant of this.#granted) grant.leftMs -= leastMs
    this.#stands = this.#granted.length === 0
    ended?.expire('expired')
    // An older budget has expired, which stops the clock before the last one is used up.
    if (at < this.#granted.length) this.#setPolicy({ policy: this.#policy }).catch(() => {})
  }

  async #setPolicy(policy: Protocol.Emulation.SetVirtualTimePolicyRequest): Promise<void> {
    await this.#current.session.send('Emulation.setVirtualTimePolicy', policy)
  }
}

async function attach(cdp: Connection, targetId: string) {
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  return { sessionId, session: cdp.session(sessionId) }
}

const TOLERANCE_MS = 250

const SCRIPT = readFileSync(path.join(import.meta.dirname, '../in-page', 'true-date.js'), 'utf8')

/** The page's script replaces all other sources of the date. */
const READ_DATE = `new File([], '').lastModified`

/** Corrects the page's date. Chromium cannot set a clock back, so a script subtracts what it is ahead. */
export class PageDate {
  readonly #session: CdpSession
  readonly #clock: VirtualClock
  #aheadMs = 0
  #dateMs = 0
  #script: Promise<string> | null = null

  constructor(session: CdpSession, clock: VirtualClock) {
    this.#session = session
    this.#clock = clock
  }

  /** Between renders, while the clock stands. `world`: isolated, because the page's own may have a wrong date. */
  async read(world: number | undefined): Promise<void> {
    const { result } = await this.#session.send('Runtime.evaluate', {
      expression: READ_DATE,
      returnByValue: true,
      contextId: world,
    })
    this.#dateMs = Number(result.value)
  }

  /** The next document begins at `nowMs` (Unix epoch), within a fraction of a second. */
  async begin(nowMs: number): Promise<void> {
    const aheadMs = this.#dateMs - nowMs
    if (aheadMs < -TOLERANCE_MS) {
      const { expired } = await this.#clock.grant('advance', -aheadMs)
      await expired
      await this.#clock.renew()
    }
    this.#correct(aheadMs > TOLERANCE_MS ? aheadMs : 0)
  }

  workerScript(): string {
    return this.#aheadMs === 0 ? '' : correction(this.#aheadMs)
  }

  /** Does not wait: the script arrives long before the next document's first byte. */
  #correct(aheadMs: number): void {
    // Keep the script within the tolerance, so most renders change nothing.
    if (Math.abs(aheadMs - this.#aheadMs) <= TOLERANCE_MS) return
    const before = this.#script
    this.#aheadMs = aheadMs
    this.#script = aheadMs === 0 ? null : this.#add(correction(aheadMs))
    // If the page is gone, the render fails by itself.
    this.#script?.catch(() => {})
    void before
      ?.then((identifier) => this.#session.send('Page.removeScriptToEvaluateOnNewDocument', { identifier }))
      .catch(() => {})
  }

  async #add(source: string): Promise<string> {
    return (await this.#session.send('Page.addScriptToEvaluateOnNewDocument', { source })).identifier
  }
}

function correction(aheadMs: number): string {
  return `(() => {${SCRIPT}\ntellTrueDate(${aheadMs})})()`
}
