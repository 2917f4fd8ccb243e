import { setTimeout as sleep } from 'node:timers/promises'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { NextRun, Task, TaskKind } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { INVALIDATE_CHANNEL, parseInvalidations } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { accountKey } from '../acme/account.ts'
import { withdrawChallenges } from '../acme/challenge.ts'
import type { IssueTimes } from '../acme/issue.ts'
import { AcmeSession } from '../acme/session.ts'
import type { Transport } from '../acme/transport.ts'
import { storeCertificate } from '../stored-certificate.ts'
import type { Vault } from '../vault/vault.ts'
import { backOffMs, renewalBackOffMs } from './back-off.ts'
import {
  askForOrders,
  beginOrder,
  endOrder,
  ORDER_SUBJECTS,
  ORDER_TASK,
  type OrderTask,
  RECENT_ORDERS,
  readNextRun,
  withLease,
} from './order-book.ts'
import { OrderRunner, type OrderTaskEnd } from './order-task.ts'
import type { CheckReach } from './reachability.ts'

export type OrderingOptions = {
  directoryUrl: string
  email: string | null
  perHour: number
  /** How many orders this node works on at once. */
  slots?: number | undefined
  times?: IssueTimes | undefined
  random?: (() => number) | undefined
}

/** After a host was announced, because others may follow. */
const SOON_MS = 250
/** Five minutes. The lease prevents storing if another node has taken over. */
const STORE_TRIES = 300
const STORE_RETRY_MS = 1_000
/** After a database failure. */
const ASK_RETRY_MS = 15_000

/**
 * Orders certificates: a task for each domain, due when its order is (`certificate_order.next_at`). Failures never affect
 * certificates in use. Tasks are asked for here and not where domains are created: without a CA there are none.
 */
export class Ordering implements TaskKind {
  readonly name = ORDER_TASK
  readonly slots: number
  /** No limit: orders are few, and accounts take turns at the budget. */
  readonly perAccount = 10_000
  readonly faultMessage = 'the result of an order was not stored'
  readonly subjects = ORDER_SUBJECTS
  readonly recent = RECENT_ORDERS
  readonly #pool: pg.Pool
  readonly #listener: Listener
  readonly #vault: Vault
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #log: Log
  readonly #directoryUrl: string
  readonly #email: string | null
  readonly #random: () => number
  readonly #runner: OrderRunner
  /** Domains that changed, until their orders are looked at; null: all. */
  #changed: Set<string> | null = new Set()
  #soon: NodeJS.Timeout | undefined
  #asking: Promise<void> = Promise.resolve()
  #isClosed = false
  #session: Promise<AcmeSession> | null = null
  #ready: Promise<void> = Promise.resolve()

  /** Without `reach`, names are not checked before an order. */
  constructor(
    pool: pg.Pool,
    listener: Listener,
    vault: Vault,
    transport: Transport,
    reach: CheckReach | null,
    clock: Clock,
    log: Log,
    { directoryUrl, email, perHour, slots = 4, times, random = Math.random }: OrderingOptions,
  ) {
    this.#pool = pool
    this.#listener = listener
    this.#vault = vault
    this.#transport = transport
    this.#clock = clock
    this.#log = log
    this.#directoryUrl = directoryUrl
    this.#email = email
    this.slots = slots
    this.#random = random
    const session = () => this.#acmeSession()
    const options = { perHour, times, random }
    this.#runner = new OrderRunner(pool, listener.caughtUp, session, reach, clock, log, options)
  }

  /** Add it to the runner of tasks, too. */
  start(): void {
    this.#listener.on(INVALIDATE_CHANNEL, (payload) => {
      const hosts = parseInvalidations(payload).flatMap((what) => (what.kind === 'host' ? [what.host] : []))
      if (hosts.length === 0) return
      for (const host of hosts) this.#changed?.add(host)
      this.#askSoon()
    })
    this.#listener.onLost(() => this.askForAll())
    // First, because a new CA makes more certificates due.
    this.#ready = this.#acmeSession().then(
      () => this.askForAll(),
      (error: unknown) => {
        this.#log.error({ err: error }, 'there is no account at the CA yet')
        this.askForAll()
      },
    )
  }

  /** Looks at the orders of all domains: which have no task, or one that is due too late. */
  askForAll(): void {
    this.#changed = null
    this.#askSoon()
  }

  /** Close the runner of tasks first: it ends the orders under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#soon)
    await this.#ready
    await this.#asking
  }

  #askSoon(): void {
    if (this.#isClosed) return
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#asking = this.#asking.then(() => this.#ask())
    }, SOON_MS)
  }

  async #ask(): Promise<void> {
    const names = this.#changed && [...this.#changed]
    this.#changed = new Set()
    try {
      await askForOrders(this.#pool, { names, nowMs: this.#clock.nowMs() })
    } catch (error) {
      if (this.#isClosed) return
      this.#log.warn({ err: error }, 'due certificates could not be read')
      this.#changed = null
      this.#soon ??= setTimeout(() => {
        this.#soon = undefined
        this.askForAll()
      }, ASK_RETRY_MS)
    }
  }

  #acmeSession(): Promise<AcmeSession> {
    const directoryUrl = this.#directoryUrl
    this.#session ??= accountKey(this.#pool, this.#vault, directoryUrl, this.#clock.nowMs())
      .then((key) => new AcmeSession(key, this.#transport, this.#clock, { directoryUrl, email: this.#email }))
      .catch((error: unknown) => {
        this.#session = null
        throw error
      })
    return this.#session
  }

  async run(task: Task, signal: AbortSignal): Promise<NextRun | null> {
    const order = await beginOrder(this.#pool, task, this.#clock.nowMs())
    if (order !== null) await this.#order(order, signal)
    return readNextRun(this.#pool, task, this.#clock.nowMs())
  }

  async #order(order: OrderTask, signal: AbortSignal): Promise<void> {
    // It rejects only with the reason of the signal.
    const end = await this.#runner.run(order, signal).catch((): null => null)
    // Only while we have the lease: the next node publishes its own challenge.
    await withLease(this.#pool, order, (client) => withdrawChallenges(client, order.domain)).catch(() => {})
    if (end === null) {
      await endOrder(this.#pool, order, { kind: 'later', nextAtMs: this.#clock.nowMs() })
      signal.throwIfAborted()
    } else {
      await this.#store(order, end, signal)
    }
  }

  async #store(order: OrderTask, end: OrderTaskEnd, signal: AbortSignal): Promise<void> {
    const { domain } = order
    const nowMs = this.#clock.nowMs()
    if (end.kind === 'issued') {
      const { certificate, ...times } = end
      const stored = await this.#retried(domain.name, signal, () =>
        withLease(this.#pool, order, (client) =>
          storeCertificate(client, this.#vault, domain, 'acme', certificate, times),
        ),
      )
      if (stored) this.#log.info({ domain: domain.name, until: certificate.notAfterMs }, 'certificate in use')
      return
    }
    if (end.kind === 'later') return endOrder(this.#pool, order, end)

    const { failure, reason, wantedMs } = end
    // The CA has not heard of names that pointed elsewhere: its first refusal waits as the first.
    const isFirst = order.failure === 'not-here' && failure !== 'not-here'
    const failures = isFirst ? 1 : order.failures + 1
    const waitMs = backOffMs(failure, failures, this.#random, wantedMs)
    const leftMs = order.current === null ? null : order.current.notAfterMs - nowMs
    const nextAtMs = nowMs + (leftMs === null ? waitMs : renewalBackOffMs(waitMs, leftMs, wantedMs))
    this.#log.warn({ domain: domain.name, failure, reason, next: nextAtMs }, 'no new certificate')
    await endOrder(this.#pool, order, { kind: 'failed', nextAtMs, failures, failure, reason, nowMs })
  }

  /** Retries, because an issued certificate counts against the CA's limits. */
  async #retried<T>(domain: string, signal: AbortSignal, store: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await store()
      } catch (error) {
        if (tries === STORE_TRIES || signal.aborted) throw error
        this.#log.warn({ err: error, domain }, 'a new certificate could not be stored yet')
        await sleep(STORE_RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
  }
}
