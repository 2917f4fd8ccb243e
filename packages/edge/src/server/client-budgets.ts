import type { Clock } from '@prepaint/runtime/clock.ts'
import type { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import type { ClientPauses } from '@prepaint/runtime/http/client-pauses.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from './exchange.ts'
import { headerBytes } from './http2-exchange.ts'

const MIB = 1024 * 1024

/** What one client may hold at a time, and what it may do within `WINDOW_MS`. docs/operations.md lists each. */
export const CLIENT_BUDGETS = {
  /** Requests that wait for a render. */
  misses: 256,
  /** Places in the line for PostgreSQL. */
  lookups: 256,
  /** Bodies that are read or converted for an answer. */
  bodies: 64,
  /** Bytes of decoded headers of requests without an answer. Requests with too large headers are refused by it, too. */
  'header-bytes': 2 * MIB,
  /** Bytes that wait until the client takes them. */
  'unsent-bytes': 64 * MIB,
  /** Requests that the client, or a fault of it, broke off. */
  resets: 2_000,
  /** Pings and settings. */
  'control-frames': 2_000,
}

export type ClientBudget = keyof typeof CLIENT_BUDGETS

/** A request is refused: it would exceed a budget of its client. */
export class OverBudget extends Error {
  override name = 'OverBudget'
  readonly budget: ClientBudget

  constructor(budget: ClientBudget) {
    super(`over the budget of one client: ${budget}`)
    this.budget = budget
  }
}

const WINDOW_MS = 10_000
/** Clients whose resets and control frames are remembered. */
const REMEMBERED = 10_000
/** What a client's connections have unsent is summed up this often. */
const SUMMED_FOR_MS = 250

/** A connection that may have bytes for its client. */
type Sender = { readonly unsentBytes: number }

/** What a connection counts for its client. */
export type ConnectionBudgets = {
  isPaused(): boolean
  /** Headers were refused without a request made of them. They count as so many refusals. */
  refuseHeaders(times: number): void
  /** Counts a control frame. Returns false if it is one too many. */
  enterControlFrame(): boolean
  /** Counts what the connection has unsent, until the result is called. */
  watch(sender: Sender): () => void
}

/** Limits what one client can make the edge hold and do. Clients without limits have no key, and nothing is counted. */
export class ClientBudgets {
  readonly #gate: ClientGate
  readonly #pauses: ClientPauses
  readonly #clock: Clock
  readonly #onRefused: (budget: ClientBudget) => void
  readonly #unsentLimitBytes: number
  readonly #held: Readonly<Record<'misses' | 'lookups' | 'bodies' | 'header-bytes', Held>>
  readonly #rates: Readonly<Record<'resets' | 'control-frames', Rate>>
  readonly #senders = new Map<string, Senders>()

  /** `onRefused` is cheap and never throws. */
  constructor(
    gate: ClientGate,
    pauses: ClientPauses,
    clock: Clock,
    onRefused: (budget: ClientBudget) => void,
    limits: Readonly<Record<ClientBudget, number>> = CLIENT_BUDGETS,
  ) {
    this.#gate = gate
    this.#pauses = pauses
    this.#clock = clock
    this.#onRefused = onRefused
    this.#unsentLimitBytes = limits['unsent-bytes']
    this.#held = {
      misses: new Held(limits.misses),
      lookups: new Held(limits.lookups),
      bodies: new Held(limits.bodies),
      'header-bytes': new Held(limits['header-bytes']),
    }
    this.#rates = {
      resets: new Rate(limits.resets, clock),
      'control-frames': new Rate(limits['control-frames'], clock),
    }
  }

  /** Returns a function that gives the place back; call it once. Throws OverBudget if there is none left. */
  take(budget: 'misses' | 'lookups' | 'bodies', request: RequestHead): () => void {
    const client = this.#gate.clientOf(request)
    if (client === null) return nothing
    const held = this.#held[budget]
    if (!held.enter(client, 1)) {
      this.#refused(budget, client)
      throw new OverBudget(budget)
    }
    return () => held.leave(client, 1)
  }

  /** Takes the place for as long as `work` takes. Rejects with OverBudget, and begins nothing, if there is none left. */
  async during<T>(
    budget: 'misses' | 'lookups' | 'bodies',
    request: RequestHead,
    work: () => T | Promise<T>,
  ): Promise<T> {
    const leave = this.take(budget, request)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Counts a request until its response is closed. Returns false if it must be refused. */
  enter(request: EdgeRequest, response: EdgeResponse): boolean {
    const client = this.#gate.clientOf(request)
    if (client === null) return true
    const over = this.#spent(client)
    if (over !== null) {
      this.#refused(over, client)
      return false
    }
    const bytes = headerBytes(request.rawHeaders)
    const held = this.#held['header-bytes']
    if (!held.enter(client, bytes)) {
      this.#refused('header-bytes', client)
      return false
    }
    response.once('close', () => {
      held.leave(client, bytes)
      // Answers that the origin broke off are counted, too: there are never so many.
      if (!response.writableFinished && response.isRefused !== true) this.#rates.resets.add(client)
    })
    return true
  }

  /** Returns null for a client without limits, and for a trusted proxy. */
  ofConnection(socket: { remoteAddress?: string | undefined }): ConnectionBudgets | null {
    const client = this.#gate.clientOfPeer(socket)
    if (client === null) return null
    return {
      isPaused: () => this.#pauses.isPaused(client),
      refuseHeaders: (times) => this.#refused('header-bytes', client, times),
      enterControlFrame: () => this.#enterControlFrame(client),
      watch: (sender) => this.#watch(client, sender),
    }
  }

  #enterControlFrame(client: string): boolean {
    this.#rates['control-frames'].add(client)
    if (!this.#rates['control-frames'].isSpent(client)) return true
    this.#refused('control-frames', client)
    return false
  }

  #watch(client: string, sender: Sender): () => void {
    const senders = this.#senders.get(client) ?? new Senders(this.#clock)
    this.#senders.set(client, senders)
    senders.all.add(sender)
    return () => {
      senders.all.delete(sender)
      if (senders.all.size === 0) this.#senders.delete(client)
    }
  }

  #spent(client: string): ClientBudget | null {
    if (this.#rates.resets.isSpent(client)) return 'resets'
    const unsentBytes = this.#senders.get(client)?.unsentBytes() ?? 0
    return unsentBytes > this.#unsentLimitBytes ? 'unsent-bytes' : null
  }

  #refused(budget: ClientBudget, client: string, times = 1): void {
    this.#onRefused(budget)
    this.#pauses.noteRefusal(client, times)
  }
}

const nothing = () => {}

/** How much of something clients hold, with the same limit for each. */
class Held {
  readonly #limit: number
  readonly #amounts = new Map<string, number>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns false, and counts nothing, if it would exceed the limit. */
  enter(client: string, amount: number): boolean {
    const after = (this.#amounts.get(client) ?? 0) + amount
    if (after > this.#limit) return false
    this.#amounts.set(client, after)
    return true
  }

  leave(client: string, amount: number): void {
    const after = (this.#amounts.get(client) ?? 0) - amount
    if (after > 0) this.#amounts.set(client, after)
    else this.#amounts.delete(client)
  }
}

/** How often clients did something in the current window, with the same limit for each. */
class Rate {
  readonly #limit: number
  readonly #clock: Clock
  readonly #counts = new RecentMap<{ count: number; sinceMs: number }>({ limit: REMEMBERED })

  constructor(limit: number, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  add(client: string): void {
    const nowMs = this.#clock.nowMs()
    const entry = this.#counts.get(client)
    if (entry === undefined) this.#counts.set(client, { count: 1, sinceMs: nowMs })
    else if (nowMs - entry.sinceMs > WINDOW_MS) {
      entry.count = 1
      entry.sinceMs = nowMs
    } else entry.count++
  }

  isSpent(client: string): boolean {
    const entry = this.#counts.peek(client)
    if (entry === undefined || entry.count <= this.#limit) return false
    return this.#clock.nowMs() - entry.sinceMs <= WINDOW_MS
  }
}

/** The open connections of a client. */
class Senders {
  readonly all = new Set<Sender>()
  readonly #clock: Clock
  #unsentBytes = 0
  #summedAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  unsentBytes(): number {
    const nowMs = this.#clock.nowMs()
    if (nowMs - this.#summedAtMs < SUMMED_FOR_MS) return this.#unsentBytes
    this.#summedAtMs = nowMs
    this.#unsentBytes = 0
    for (const { unsentBytes } of this.all) this.#unsentBytes += unsentBytes
    return this.#unsentBytes
  }
}
