import { createHash } from 'node:crypto'

import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'

import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { ApiApp } from './app.ts'

export const WINDOW_SECONDS = 600

/** Entries of each cache. */
const REMEMBERED = 10_000
/** Headers that may contain a key or token. */
const SECRET_HEADERS = ['x-api-key', 'authorization', 'x-prerender-token'] as const

type FailedAttemptDeps = {
  /** The client that a request is counted for; null: not counted. */
  clientOf(request: FastifyRequest['raw']): string | null
  clock: Clock
  /** Failed attempts of one client in a window; undefined: no limit. */
  most: number | undefined
}

/**
 * Refuses clients that have sent too many invalid keys or tokens, before the
 * look-up. A secret that was valid before is let through to the usual check, as
 * clients may share an address. Register it before the access checks.
 */
export function limitFailedAttempts(app: ApiApp, { clientOf, clock, most }: FailedAttemptDeps): void {
  if (most === undefined) return
  const windows = new LRUCache<string, { count: number; endsMs: number }>({ max: REMEMBERED })
  const good = new LRUCache<string, true>({ max: REMEMBERED })

  const windowOf = (client: string) => {
    const window = windows.get(client)
    return window === undefined || window.endsMs <= clock.nowMs() ? null : window
  }

  app.addHook('onRequest', async (request) => {
    const shown = secretsOf(request)
    if (shown === null) return
    const client = clientOf(request.raw)
    const window = client === null ? null : windowOf(client)
    if (window === null || window.count < most || good.has(hash(shown))) return
    const waitMs = window.endsMs - clock.nowMs()
    throw new AppError('too_many_failures', { headers: { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` } })
  })

  app.addHook('onError', async (request, _reply, error) => {
    if (!(error instanceof AppError)) return
    if (error.code !== 'invalid_api_key' && error.code !== 'invalid_token') return
    const client = clientOf(request.raw)
    if (client === null) return
    const window = windowOf(client) ?? { count: 0, endsMs: clock.nowMs() + WINDOW_SECONDS * 1_000 }
    windows.set(client, { ...window, count: window.count + 1 })
  })

  // Access was checked by now.
  app.addHook('preParsing', async (request) => {
    const shown = request.caller === null && request.tokenOwner === null ? null : secretsOf(request)
    if (shown !== null) good.set(hash(shown), true)
  })
}

/** All its secrets as one text; null: none. */
function secretsOf({ headers }: FastifyRequest): string | null {
  const shown = SECRET_HEADERS.map((name) => headers[name] ?? '')
  return shown.every((value) => value === '') ? null : JSON.stringify(shown)
}

/** Secrets are not kept in memory. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
