import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { type Challenge, publishChallenge } from '../acme/challenge.ts'
import { type IssueTimes, issueCertificate } from '../acme/issue.ts'
import { AcmeProblem } from '../acme/problem.ts'
import {
  certificateId,
  type Random,
  type RenewalInfo,
  renewalInfo,
  renewalMs,
  suggestedMs,
} from '../acme/renewal.ts'
import type { AcmeSession } from '../acme/session.ts'
import type { Certificate } from '../certificate.ts'
import type { FailureKind } from './back-off.ts'
import { type OrderTask, takeBudget } from './order-book.ts'
import type { CheckReach } from './reachability.ts'

export type OrderTaskEnd =
  | { kind: 'issued'; certificate: Certificate; nextAtMs: number; renewAtMs: number }
  | { kind: 'later'; nextAtMs: number; renewAtMs?: number }
  | { kind: 'failed'; failure: FailureKind; reason: string; wantedMs: number | null }

type Times = { nextAtMs: number; renewAtMs: number }

const RETRY_MS = 6 * 3_600_000
/** Between two orders, even if the CA wants an immediate replacement. */
const MIN_PAUSE_MS = 3_600_000
/** Part of the lifetime reserved for failures, whatever the CA suggests. */
const RESERVE = 1 / 12

type OrderRunOptions = { perHour: number; times?: IssueTimes | undefined; random?: Random | undefined }

/** Carries out orders. */
export class OrderRunner {
  readonly #pool: pg.Pool
  readonly #caughtUp: () => Promise<void>
  readonly #session: () => Promise<AcmeSession>
  readonly #reach: CheckReach | null
  readonly #clock: Clock
  readonly #log: Log
  readonly #perHour: number
  readonly #times: IssueTimes | undefined
  readonly #random: Random

  /** `caughtUp` resolves when all nodes serve what was published. Without `reach`, nothing is checked before an order. */
  constructor(
    pool: pg.Pool,
    caughtUp: () => Promise<void>,
    session: () => Promise<AcmeSession>,
    reach: CheckReach | null,
    clock: Clock,
    log: Log,
    { perHour, times, random = Math.random }: OrderRunOptions,
  ) {
    this.#pool = pool
    this.#caughtUp = caughtUp
    this.#session = session
    this.#reach = reach
    this.#clock = clock
    this.#log = log
    this.#perHour = perHour
    this.#times = times
    this.#random = random
  }

  /** Checks the time, the name and the budget, then orders. Rejects only with the signal's reason. */
  async run(task: OrderTask, signal: AbortSignal): Promise<OrderTaskEnd> {
    try {
      return await this.#run(task, signal)
    } catch (error) {
      signal.throwIfAborted()
      return this.#failure(task, error)
    }
  }

  async #run({ domain, account, current, failures }: OrderTask, signal: AbortSignal): Promise<OrderTaskEnd> {
    if (current !== null && this.#clock.nowMs() < current.renewAtMs) {
      const times = await this.#askCa(current, current.renewAtMs, signal)
      if (this.#clock.nowMs() < times.renewAtMs) return { kind: 'later', ...times }
    }

    const publish = (challenge: Challenge) => this.#publish(domain, challenge)
    // Without a check the kinds alternate, because the CA may be able to use only one.
    const blind = { kind: failures % 2 === 0 ? 'http-01' : 'tls-alpn-01' } as const
    const reach = this.#reach === null ? blind : await this.#reach(domain.name, publish, signal)
    if ('unreachable' in reach) return failed('not-here', reach.unreachable)

    const order = { perHour: this.#perHour, account, nowMs: this.#clock.nowMs() }
    const budget = await takeBudget(this.#pool, order)
    if (!budget.taken) return { kind: 'later', nextAtMs: budget.nextAtMs }

    const certificate = await issueCertificate(
      await this.#session(),
      {
        name: domain.name,
        kind: reach.kind,
        replaces: current === null ? null : certificateId(current.chain),
        publish,
        signal,
      },
      this.#clock,
      this.#times,
    )
    const times = await this.#askCa(certificate, renewalMs(certificate, this.#random), signal)
    const nowMs = this.#clock.nowMs()
    const pauseMs = Math.min(MIN_PAUSE_MS, (certificate.notAfterMs - nowMs) / 3)
    return { kind: 'issued', certificate, ...times, nextAtMs: Math.max(times.nextAtMs, nowMs + pauseMs) }
  }

  async #publish(domain: OrderTask['domain'], challenge: Challenge): Promise<void> {
    await publishChallenge(this.#pool, domain, challenge)
    await this.#caughtUp()
  }

  /** Returns when to renew (the CA's suggestion or `otherwiseMs`) and when to ask the CA again. */
  async #askCa(
    { chain, notBeforeMs, notAfterMs }: { chain: string; notBeforeMs: number; notAfterMs: number },
    otherwiseMs: number,
    signal: AbortSignal,
  ): Promise<Times> {
    const nowMs = this.#clock.nowMs()
    let info: RenewalInfo | null
    try {
      info = await renewalInfo(await this.#session(), chain, nowMs, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#log.debug({ err: error }, 'the CA returned no renewal information')
      return { renewAtMs: otherwiseMs, nextAtMs: Math.min(otherwiseMs, nowMs + RETRY_MS) }
    }
    if (info === null) return { renewAtMs: otherwiseMs, nextAtMs: otherwiseMs }
    const isInWindow = info.startMs <= otherwiseMs && otherwiseMs <= info.endMs
    const latestMs = notAfterMs - (notAfterMs - notBeforeMs) * RESERVE
    const wantedMs = isInWindow ? otherwiseMs : suggestedMs(info, this.#random)
    const renewAtMs = Math.min(wantedMs, latestMs)
    return { renewAtMs, nextAtMs: Math.min(renewAtMs, nowMs + info.askAgainMs) }
  }

  #failure({ domain }: OrderTask, error: unknown): OrderTaskEnd {
    if (!(error instanceof AcmeProblem)) {
      this.#log.error({ err: error, domain: domain.name }, 'a certificate could not be ordered')
      return failed('fault', 'an internal error')
    }
    if (error.cause !== undefined) {
      this.#log.warn({ err: error, domain: domain.name }, 'the CA could not be reached')
    }
    const isAway = error.kind === 'unreachable' || error.kind === 'badNonce'
    return failed(isAway ? 'ca-away' : 'refused', error.message, error.retryAfterMs)
  }
}

function failed(failure: FailureKind, reason: string, wantedMs: number | null = null): OrderTaskEnd {
  return { kind: 'failed', failure, reason, wantedMs }
}
