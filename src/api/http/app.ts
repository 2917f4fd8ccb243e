import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import type { SessionClient } from '../../accounts/sign-in/sessions.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { clientBlock, type ReadClient } from '../../http/client-address.ts'

/** What a route is registered on: bodies and answers have the types of their schemas. */
export type ApiApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

/** Gives a schema a name of its own under `components/schemas` of the OpenAPI document. */
export function apiSchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return schema.meta({ id: name })
}

/**
 * Called after each committed change, before its answer: resolves once this
 * node has heard of everything that was committed before the call. Who was
 * answered then never meets the state before his change, not even one
 * millisecond later. Bounded, and never rejects: the change is made.
 */
export type CaughtUp = () => Promise<void>

/** A list of sessions shows no more of it. */
const USER_AGENT_CHARS = 300

/** The client of a request; of an IPv6 address the /64, as one client has all of it. */
export function clientOf(readClient: ReadClient, request: FastifyRequest): SessionClient {
  const { address } = readClient(request.raw)
  return {
    address: address === '' ? '' : clientBlock(address),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS),
  }
}

/** Whether a customer may have this address as his origin, and its one spelling. `reason` is for people. */
export type CheckOrigin = (
  raw: string,
) => Promise<{ ok: true; originUrl: string } | { ok: false; reason: string }>

/** A number from a path; throws `unknown` for what is none. */
export function idOf(raw: string, unknown: ErrorCode): number {
  if (!/^[1-9]\d{0,14}$/.test(raw)) throw new AppError(unknown)
  return Number(raw)
}

/** Counts in the messages of answers. */
export function entries(count: number): string {
  return count === 1 ? '1 cache entry' : `${count} cache entries`
}

export function pages(count: number): string {
  return count === 1 ? '1 page' : `${count} pages`
}

export function domains(count: number): string {
  return count === 1 ? '1 domain' : `${count} domains`
}
