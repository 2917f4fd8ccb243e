import { createHash } from 'node:crypto'

import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'

import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { ApiApp } from './app.ts'

export const WINDOW_SECONDS = 600

/** Counts and secrets that are remembered; the oldest make room. */
const REMEMBERED = 10_000
/** The headers that can hold a key or a token. */
const SECRET_HEADERS = ['x-api-key', 'authorization', 'x-prerender-token'] as const

type FailedAttemptDeps = {
  /** By whom a request is counted; null: not at all. */
  clientOf(request: FastifyRequest['raw']): string | null
  clock: Clock
  /** Failed attempts of one client in a window; absent: without limit. */
  most: number | undefined
}

/**
 * Refuses clients who have tried too many keys or tokens that are none, before
 * anything is looked up. Who shares their address and has shown a good one
 * before is let through: it is checked as ever. Register it before what checks.
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

  // What comes this far has been checked.
  app.addHook('preParsing', async (request) => {
    const shown = request.caller === null && request.tokenOwner === null ? null : secretsOf(request)
    if (shown !== null) good.set(hash(shown), true)
  })
}

/** All that it shows, as one text; null: nothing. */
function secretsOf({ headers }: FastifyRequest): string | null {
  const shown = SECRET_HEADERS.map((name) => headers[name] ?? '')
  return shown.every((value) => value === '') ? null : JSON.stringify(shown)
}

/** No secret is kept in memory. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
