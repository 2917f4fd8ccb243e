import { createHash } from 'node:crypto'
import { AppError } from '@prepaint/contract/errors.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { ApiApp } from './app.ts'

export const WINDOW_SECONDS = 600

const REMEMBERED = 10_000
const SECRET_HEADERS = ['x-api-key', 'authorization', 'x-prerender-token'] as const

type FailedAttemptDeps = {
  clientOf(request: FastifyRequest['raw']): string | null
  clock: Clock
  /** Per client and window; undefined: no limit. */
  most: number | undefined
}

/**
 * Refuses clients with too many invalid secrets before the database lookup. Previously valid secrets still pass,
 * because clients may share an address. Register before the access checks.
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

  // Access has been checked by now.
  app.addHook('preParsing', async (request) => {
    const shown = request.caller === null && request.tokenOwner === null ? null : secretsOf(request)
    if (shown !== null) good.set(hash(shown), true)
  })
}

function secretsOf({ headers }: FastifyRequest): string | null {
  const shown = SECRET_HEADERS.map((name) => headers[name] ?? '')
  return shown.every((value) => value === '') ? null : JSON.stringify(shown)
}

/** Keeps secrets out of memory. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
