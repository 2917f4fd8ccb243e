import { createHash } from 'node:crypto'
import { AppError } from '@prepaint/contract/errors.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { MemoryRate } from '@prepaint/runtime/memory-rate.ts'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { ApiApp } from './app.ts'

export const WINDOW_SECONDS = 600

const REMEMBERED = 10_000
const SECRET_HEADERS = ['x-api-key', 'authorization', 'x-prerender-token'] as const

type FailedAttemptOptions = {
  clientOf(request: FastifyRequest['raw']): string | null
  clock: Clock
  /** Requests with invalid secrets per client and window. */
  most: number
}

/**
 * Refuses clients with too many invalid secrets before the database lookup. Previously valid secrets still pass,
 * because clients may share an address. Register before the access checks.
 */
export function limitFailedAttempts(app: ApiApp, { clientOf, clock, most }: FailedAttemptOptions): void {
  const failures = new MemoryRate(clock, { most, withinMs: WINDOW_SECONDS * 1_000, subjects: REMEMBERED })
  const good = new LRUCache<string, true>({ max: REMEMBERED })

  app.addHook('onRequest', async (request) => {
    const shown = secretsOf(request)
    if (shown === null) return
    const client = clientOf(request.raw)
    const waitMs = client === null ? null : failures.waitMs(client)
    if (waitMs === null || good.has(hash(shown))) return
    throw new AppError('too_many_failures', { headers: { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` } })
  })

  app.addHook('onError', async (request, _reply, error) => {
    if (!(error instanceof AppError)) return
    if (error.code !== 'invalid_api_key' && error.code !== 'invalid_token') return
    const client = clientOf(request.raw)
    if (client !== null) failures.count(client)
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
