import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type ErrorCode } from '@prepaint/contract/errors.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import { MemoryRate } from '@prepaint/runtime/memory-rate.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type { FastifyRequest } from 'fastify'
import type { ApiApp } from './app.ts'

export const WINDOW_SECONDS = 600

const REMEMBERED = 10_000
const SECRET_HEADERS = ['x-api-key', 'authorization', 'x-prerender-token'] as const

/** Of share links: 100 failures of a client in 15 minutes. */
export const SHARE_FAILURES = { most: 100, withinSeconds: 900, headers: ['x-share-token'] } as const

type Asked = IncomingMessage

/** What a request with a secret took of its client's limit. */
type Taken = { client: string; guess: string }

/**
 * Counts requests with invalid secrets by client, and refuses clients that had too many. A request counts before its secret is
 * looked up, and no longer once the secret is known to be valid: of many guesses at once no more are looked up than may fail.
 * Previously valid secrets still pass, because clients may share an address.
 */
export class FailedAttempts {
  readonly #gate: ClientGate
  readonly #failures: MemoryRate
  readonly #headers: readonly string[]
  readonly #good = new RecentMap<true>({ limit: REMEMBERED })
  readonly #taken = new WeakMap<Asked, Taken>()
  /** Requests under way, by client and secret: many with one secret are one guess, which is wrong once one of them was. */
  readonly #open = new Map<string, { requests: number; isWrong: boolean }>()

  /** `most`: requests with invalid secrets in `headers` per client and window. */
  constructor(
    gate: ClientGate,
    clock: Clock,
    most: number,
    { withinSeconds = WINDOW_SECONDS, headers = SECRET_HEADERS as readonly string[] } = {},
  ) {
    this.#gate = gate
    this.#headers = headers
    this.#failures = new MemoryRate(clock, {
      most,
      withinMs: withinSeconds * 1_000,
      subjects: REMEMBERED,
    })
  }

  /** Counts the request. Returns how long the client must wait in ms, or null if its secret may be looked up. */
  take(request: Asked, response: ServerResponse): number | null {
    const shown = this.#secretsOf(request.headers)
    const client = shown === null ? null : this.#gate.clientOf(request)
    if (shown === null || client === null) return null
    const secret = hash(shown)
    if (this.#good.get(secret) === true) return null
    const guess = `${client} ${secret}`
    const open = this.#open.get(guess)
    if (open === undefined) {
      const waitMs = this.#failures.waitMs(client)
      if (waitMs !== null) return waitMs
      this.#failures.count(client)
      this.#open.set(guess, { requests: 1, isWrong: false })
    } else open.requests++
    this.#taken.set(request, { client, guess })
    // The secret of some requests is never looked up.
    response.once('close', () => this.#end(request, { isWrong: false }))
    return null
  }

  /** The secret is invalid: the request goes on counting. */
  countFailure(request: Asked): void {
    this.#end(request, { isWrong: true })
  }

  /**
   * The secret is valid: the request counts no more, and the secret is not counted again. Of several only one was looked up, so
   * such requests are counted again.
   */
  rememberGood(request: Asked): void {
    this.#end(request, { isWrong: false })
    const shown = this.#secretsOf(request.headers)
    if (shown !== null && this.#showsOne(request.headers)) this.#good.set(hash(shown), true)
  }

  #showsOne(headers: IncomingHttpHeaders): boolean {
    return this.#headers.filter((name) => (headers[name] ?? '') !== '').length === 1
  }

  #end(request: Asked, { isWrong }: { isWrong: boolean }): void {
    const taken = this.#taken.get(request)
    if (taken === undefined) return
    this.#taken.delete(request)
    const { client, guess } = taken
    const open = this.#open.get(guess)
    if (open === undefined) return
    open.requests--
    open.isWrong ||= isWrong
    if (open.requests > 0) return
    this.#open.delete(guess)
    if (!open.isWrong) this.#failures.giveBack(client)
  }

  #secretsOf(headers: IncomingHttpHeaders): string | null {
    const shown = this.#headers.map((name) => headers[name] ?? '')
    return shown.every((value) => value === '') ? null : JSON.stringify(shown)
  }
}

type Counting = {
  /** The errors of invalid secrets. */
  failures: readonly ErrorCode[]
  /** Whether the secret of a request was looked up and is valid. */
  isShown: (request: FastifyRequest) => boolean
}

const KEYS_AND_TOKENS: Counting = {
  failures: ['invalid_api_key', 'invalid_token'],
  // A key beside a share link or a session is not looked up.
  isShown: ({ caller, tokenOwner, frontKey }) =>
    (caller !== null && caller.keyId !== null) || tokenOwner !== null || frontKey !== null,
}

export const SHARE_LINKS: Counting = {
  failures: ['share_link_invalid'],
  isShown: ({ caller }) => (caller?.share ?? null) !== null,
}

/** Refuses clients with too many invalid secrets before the database lookup. Register before the access checks. */
export function limitFailedAttempts(
  app: ApiApp,
  attempts: FailedAttempts,
  { failures, isShown }: Counting = KEYS_AND_TOKENS,
): void {
  app.addHook('onRequest', async (request, reply) => {
    const waitMs = attempts.take(request.raw, reply.raw)
    if (waitMs === null) return
    throw new AppError('too_many_failures', { headers: { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` } })
  })

  app.addHook('onError', async (request, _reply, error) => {
    if (!(error instanceof AppError) || !failures.includes(error.code)) return
    attempts.countFailure(request.raw)
  })

  // Access has been checked by now.
  app.addHook('preParsing', async (request) => {
    if (isShown(request)) attempts.rememberGood(request.raw)
  })
}

/** Keeps secrets out of memory. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
