import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '@prepaint/contract/errors.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import { MemoryRate } from '@prepaint/runtime/memory-rate.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type { ApiApp } from './app.ts'

export const WINDOW_SECONDS = 600

const REMEMBERED = 10_000
const SECRET_HEADERS = ['x-api-key', 'authorization', 'x-prerender-token'] as const

type Asked = Parameters<ClientGate['clientOf']>[0]

/**
 * Counts requests with invalid secrets by client, and tells when a client had too many. Previously valid secrets still
 * pass, because clients may share an address.
 */
export class FailedAttempts {
  readonly #gate: ClientGate
  readonly #failures: MemoryRate
  readonly #good = new RecentMap<true>({ limit: REMEMBERED })

  /** `most`: requests with invalid secrets per client and window. */
  constructor(gate: ClientGate, clock: Clock, most: number) {
    this.#gate = gate
    this.#failures = new MemoryRate(clock, {
      most,
      withinMs: WINDOW_SECONDS * 1_000,
      subjects: REMEMBERED,
    })
  }

  /** Returns how long the client must wait in ms, or null if its secret may be looked up. */
  waitMs(request: Asked): number | null {
    const shown = secretsOf(request.headers)
    if (shown === null) return null
    const client = this.#gate.clientOf(request)
    const waitMs = client === null ? null : this.#failures.waitMs(client)
    return waitMs === null || this.#good.get(hash(shown)) === true ? null : waitMs
  }

  countFailure(request: Asked): void {
    const client = this.#gate.clientOf(request)
    if (client !== null) this.#failures.count(client)
  }

  rememberGood({ headers }: Asked): void {
    const shown = secretsOf(headers)
    if (shown !== null) this.#good.set(hash(shown), true)
  }
}

/** Refuses clients with too many invalid secrets before the database lookup. Register before the access checks. */
export function limitFailedAttempts(app: ApiApp, attempts: FailedAttempts): void {
  app.addHook('onRequest', async (request) => {
    const waitMs = attempts.waitMs(request.raw)
    if (waitMs === null) return
    throw new AppError('too_many_failures', { headers: { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` } })
  })

  app.addHook('onError', async (request, _reply, error) => {
    if (!(error instanceof AppError)) return
    if (error.code !== 'invalid_api_key' && error.code !== 'invalid_token') return
    attempts.countFailure(request.raw)
  })

  // Access has been checked by now.
  app.addHook('preParsing', async (request) => {
    const hasShown = request.caller !== null || request.tokenOwner !== null || request.frontKey !== null
    if (hasShown) attempts.rememberGood(request.raw)
  })
}

function secretsOf(headers: IncomingHttpHeaders): string | null {
  const shown = SECRET_HEADERS.map((name) => headers[name] ?? '')
  return shown.every((value) => value === '') ? null : JSON.stringify(shown)
}

/** Keeps secrets out of memory. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
