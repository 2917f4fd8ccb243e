import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Challenge } from '../acme/challenge.ts'
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
import type { Errand } from './order-book.ts'
import type { Reach } from './reachability.ts'

export type ErrandDeps = {
  clock: Clock
  log: Log
  random: Random
  session(): Promise<AcmeSession>
  /** Whether the name leads to us, and by which challenge; null: that is not looked at. */
  reach:
    | ((name: string, publish: (it: Challenge) => Promise<void>, signal: AbortSignal) => Promise<Reach>)
    | null
  takeBudget(account: Errand['account']): Promise<{ taken: true } | { taken: false; nextAtMs: number }>
  /** Resolves when this fleet answers the challenge. */
  publish(domain: Errand['domain'], challenge: Challenge): Promise<void>
  times?: IssueTimes
}

/** Times are of the clock, not durations. */
export type Ending =
  | { kind: 'issued'; certificate: Certificate; nextAtMs: number; renewAtMs: number }
  | { kind: 'later'; nextAtMs: number; renewAtMs?: number }
  | { kind: 'failed'; failure: FailureKind; reason: string; wantedMs: number | null }

type Times = { nextAtMs: number; renewAtMs: number }

/** Without an answer about renewal information it is asked again after so long. */
const ASK_AGAIN_MS = 6 * 3_600_000
/** A CA that wants what it has just issued to be replaced would else be given order after order. */
const REST_MS = 3_600_000
/** Of the lifetime: no suggestion of a CA may leave less than this for failures. */
const LEAST_LEFT = 1 / 12

/**
 * One errand, top to bottom: is it time, does the name lead to us, is there
 * budget, order. Rejects only with the reason of `signal`.
 */
export async function carryErrand(deps: ErrandDeps, errand: Errand, signal: AbortSignal): Promise<Ending> {
  const { clock, random } = deps
  const { domain, current } = errand
  try {
    if (current !== null && clock.nowMs() < current.renewAtMs) {
      const times = await askCa(deps, current, current.renewAtMs, signal)
      if (clock.nowMs() < times.renewAtMs) return { kind: 'later', ...times }
    }

    const publish = (challenge: Challenge) => deps.publish(domain, challenge)
    // Without a look, by turns: a CA that cannot come by one way may by the other.
    const blind = { kind: errand.failures % 2 === 0 ? 'http-01' : 'tls-alpn-01' } as const
    const reach = deps.reach === null ? blind : await deps.reach(domain.name, publish, signal)
    if ('unreachable' in reach) return failed('not-here', reach.unreachable)

    const budget = await deps.takeBudget(errand.account)
    if (!budget.taken) return { kind: 'later', nextAtMs: budget.nextAtMs }

    const certificate = await issueCertificate(
      await deps.session(),
      {
        name: domain.name,
        kind: reach.kind,
        replaces: current === null ? null : certificateId(current.chain),
        publish,
        signal,
      },
      clock,
      deps.times,
    )
    const times = await askCa(deps, certificate, renewalMs(certificate, random), signal)
    const nowMs = clock.nowMs()
    const restMs = Math.min(REST_MS, (certificate.notAfterMs - nowMs) / 3)
    return { kind: 'issued', certificate, ...times, nextAtMs: Math.max(times.nextAtMs, nowMs + restMs) }
  } catch (error) {
    signal.throwIfAborted()
    return failure(deps, errand, error)
  }
}

/** When to renew, by the CA's suggestion where it gives one, else at `otherwiseMs`; and when to ask it again. */
async function askCa(
  { clock, log, random, session }: ErrandDeps,
  certificate: { chain: string; notBeforeMs: number; notAfterMs: number },
  otherwiseMs: number,
  signal: AbortSignal,
): Promise<Times> {
  const nowMs = clock.nowMs()
  const { chain, notBeforeMs, notAfterMs } = certificate
  let info: RenewalInfo | null
  try {
    info = await renewalInfo(await session(), chain, nowMs, signal)
  } catch (error) {
    signal.throwIfAborted()
    log.debug({ err: error }, 'the CA does not tell when to renew')
    return { renewAtMs: otherwiseMs, nextAtMs: Math.min(otherwiseMs, nowMs + ASK_AGAIN_MS) }
  }
  if (info === null) return { renewAtMs: otherwiseMs, nextAtMs: otherwiseMs }
  // A moment that was drawn from the window stays while it is in it.
  const kept = info.startMs <= otherwiseMs && otherwiseMs <= info.endMs
  const latestMs = notAfterMs - (notAfterMs - notBeforeMs) * LEAST_LEFT
  const renewAtMs = Math.min(kept ? otherwiseMs : suggestedMs(info, random), latestMs)
  return { renewAtMs, nextAtMs: Math.min(renewAtMs, nowMs + info.askAgainMs) }
}

function failure({ log }: ErrandDeps, { domain }: Errand, error: unknown): Ending {
  if (!(error instanceof AcmeProblem)) {
    log.error({ err: error, domain: domain.name }, 'a certificate could not be ordered')
    return failed('fault', 'something went wrong at our side')
  }
  const away = error.kind === 'unreachable' || error.kind === 'badNonce'
  if (error.cause !== undefined) log.warn({ err: error, domain: domain.name }, 'the CA could not be asked')
  return failed(away ? 'ca-away' : 'refused', error.message, error.retryAfterMs)
}

function failed(failure: FailureKind, reason: string, wantedMs: number | null = null): Ending {
  return { kind: 'failed', failure, reason, wantedMs }
}
