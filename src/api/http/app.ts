import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type pg from 'pg'
import type { z } from 'zod'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { SessionClient } from '../../accounts/sign-in/sessions.ts'
import type { Vault } from '../../certificates/vault/vault.ts'
import type { Clock } from '../../clock.ts'
import type { EdgeTarget } from '../../config.ts'
import type { Queryable } from '../../db/transaction.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { clientBlock, type ReadClient } from '../../http/client-address.ts'
import type { ClientLimits } from '../../http/client-limits.ts'
import type { Log } from '../../log.ts'
import type { Mailer } from '../../mail/mailer.ts'
import type { Checks } from '../../sites/reachability/checks.ts'
import type { PageDoors } from '../pages/integration.ts'
import type { Subscribe } from '../service/events.ts'
import type { CheckReadiness, ReadMetrics } from '../service/health.ts'

/** Routes are registered on it: bodies and responses have the types of their schemas. */
export type ApiApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

/** What the routes need of a node. */
export type ApiDeps = {
  pool: pg.Pool
  /** Where keys, tokens and sessions are looked up. Absent: in the pool. */
  accessDb?: Queryable
  plans: PlanCatalogue
  clock: Clock
  log: Log
  checkOrigin: CheckOrigin
  checkReadiness: CheckReadiness
  caughtUp: CaughtUp
  doors: PageDoors
  /** Absent: no mail is sent. */
  mailer?: Pick<Mailer, 'send'>
  /** Checks names and origins for owners. Absent: this server does not check. */
  checks?: Checks
  /** Live updates of an account, or of the fleet. Absent: there are none. */
  subscribe?: Subscribe
  /** The client of a request, behind trusted proxies. */
  readClient: ReadClient
  /** Encrypts the keys of certificates. */
  vault: Vault
  /** Absent: there are no metrics. */
  readMetrics?: ReadMetrics
  version: string
  /** Base address shown to users; null: relative to where the document was read. */
  publicUrl: string | null
  /** Limits for each client IP. Absent: there are none. */
  clients?: ClientLimits & { failures: number }
  /** Where the DNS records of domains must point. Absent or null: not configured. */
  edgeTarget?: EdgeTarget | null
  /** Shown at `/bot`: an e-mail address or a URL; null: none. */
  contact: string | null
  /** What `GET /metrics` requires; null or absent: a request from this machine. */
  metricsToken?: string | null
  /** The built dashboard. Absent: where `npm run build` puts it. */
  dashboardDir?: string
}

/** Names a schema: it gets an entry under `components/schemas` of the OpenAPI document. */
export function apiSchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return schema.meta({ id: name })
}

/**
 * Called after each committed change, before the response: resolves once this
 * node has received the notifications of everything committed before the call.
 * A client that has its response never sees the state before its change.
 * Bounded, and never rejects: the change is stored.
 */
export type CaughtUp = () => Promise<void>

/** As much of the user agent as the list of sessions shows. */
const USER_AGENT_CHARS = 300

/** The client of a request; of an IPv6 address the /64, as one client has all of it. */
export function clientOf(readClient: ReadClient, request: FastifyRequest): SessionClient {
  const { address } = readClient(request.raw)
  return {
    address: address === '' ? '' : clientBlock(address),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS),
  }
}

/** Whether this address is allowed as an origin, and how it is stored. `reason` is for people. */
export type CheckOrigin = (
  raw: string,
) => Promise<{ ok: true; originUrl: string } | { ok: false; reason: string }>

/** A number in a path. Throws `unknown` if it is not one. */
export function numberFrom(raw: string, unknown: ErrorCode): number {
  if (!/^[1-9]\d{0,14}$/.test(raw)) throw new AppError(unknown)
  return Number(raw)
}

/** A count in the message of a response: `1 page`, `2 pages`. */
export function countText(count: number, one: 'page' | 'domain' | 'cache entry'): string {
  if (count === 1) return `1 ${one}`
  return `${count} ${one === 'cache entry' ? 'cache entries' : `${one}s`}`
}
