import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
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
import type { OrderTask } from './order-book.ts'
import type { Reach } from './reachability.ts'

export type OrderTaskDeps = {
  clock: Clock
  log: Log
  random: Random
  session(): Promise<AcmeSession>
  /** Whether the name points here, and for which challenge; null: not checked. */
  reach:
    | ((name: string, publish: (it: Challenge) => Promise<void>, signal: AbortSignal) => Promise<Reach>)
    | null
  takeBudget(account: OrderTask['account']): Promise<{ taken: true } | { taken: false; nextAtMs: number }>
  publish(domain: OrderTask['domain'], challenge: Challenge): Promise<void>
  times?: IssueTimes
}

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

/** Checks the time, the name and the budget, then orders. Rejects only with the signal's reason. */
export async function runOrderTask(
  deps: OrderTaskDeps,
  task: OrderTask,
  signal: AbortSignal,
): Promise<OrderTaskEnd> {
  const { clock, random } = deps
  const { domain, current } = task
  try {
    if (current !== null && clock.nowMs() < current.renewAtMs) {
      const times = await askCa(deps, current, current.renewAtMs, signal)
      if (clock.nowMs() < times.renewAtMs) return { kind: 'later', ...times }
    }

    const publish = (challenge: Challenge) => deps.publish(domain, challenge)
    // Without a check the kinds alternate, because the CA may be able to use only one.
    const blind = { kind: task.failures % 2 === 0 ? 'http-01' : 'tls-alpn-01' } as const
    const reach = deps.reach === null ? blind : await deps.reach(domain.name, publish, signal)
    if ('unreachable' in reach) return failed('not-here', reach.unreachable)

    const budget = await deps.takeBudget(task.account)
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
    const pauseMs = Math.min(MIN_PAUSE_MS, (certificate.notAfterMs - nowMs) / 3)
    return { kind: 'issued', certificate, ...times, nextAtMs: Math.max(times.nextAtMs, nowMs + pauseMs) }
  } catch (error) {
    signal.throwIfAborted()
    return failure(deps, task, error)
  }
}

/** Returns when to renew (the CA's suggestion or `otherwiseMs`) and when to ask the CA again. */
async function askCa(
  { clock, log, random, session }: OrderTaskDeps,
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
    log.debug({ err: error }, 'the CA returned no renewal information')
    return { renewAtMs: otherwiseMs, nextAtMs: Math.min(otherwiseMs, nowMs + RETRY_MS) }
  }
  if (info === null) return { renewAtMs: otherwiseMs, nextAtMs: otherwiseMs }
  const kept = info.startMs <= otherwiseMs && otherwiseMs <= info.endMs
  const latestMs = notAfterMs - (notAfterMs - notBeforeMs) * RESERVE
  const renewAtMs = Math.min(kept ? otherwiseMs : suggestedMs(info, random), latestMs)
  return { renewAtMs, nextAtMs: Math.min(renewAtMs, nowMs + info.askAgainMs) }
}

function failure({ log }: OrderTaskDeps, { domain }: OrderTask, error: unknown): OrderTaskEnd {
  if (!(error instanceof AcmeProblem)) {
    log.error({ err: error, domain: domain.name }, 'a certificate could not be ordered')
    return failed('fault', 'an internal error')
  }
  const away = error.kind === 'unreachable' || error.kind === 'badNonce'
  if (error.cause !== undefined) log.warn({ err: error, domain: domain.name }, 'the CA could not be reached')
  return failed(away ? 'ca-away' : 'refused', error.message, error.retryAfterMs)
}

function failed(failure: FailureKind, reason: string, wantedMs: number | null = null): OrderTaskEnd {
  return { kind: 'failed', failure, reason, wantedMs }
}
