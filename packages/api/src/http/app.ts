import { AppError, type ErrorCode } from '@prepaint/contract/errors.ts'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { clientBlock, type ReadClient } from '@prepaint/runtime/http/client-address.ts'
import type { ClientLimits } from '@prepaint/runtime/http/client-limits.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { SessionClient } from '@prepaint/service/accounts/sign-in/sessions.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import type { Mailer } from '@prepaint/service/mail/mailer.ts'
import type { Checks } from '@prepaint/service/sites/reachability/checks.ts'
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
import type { PageIntegrations } from '../pages/integration.ts'
import type { Subscribe } from '../service/events.ts'
import type { CheckReadiness, ReadMetrics } from '../service/health.ts'

export type ApiApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

export type ApiDeps = {
  pool: pg.Pool
  /** For keys, tokens and sessions. Default: the pool. */
  accessDb?: Queryable
  plans: PlanCatalogue
  clock: Clock
  log: Log
  checkOrigin: CheckOrigin
  /** Throws `invalid_endpoint`. */
  checkEndpoint(url: string): Promise<void>
  checkReadiness: CheckReadiness
  caughtUp: CaughtUp
  integrations: PageIntegrations
  /** What is served as robots.txt. Absent: only texts that are sent along are judged. */
  robots?: RobotsFiles
  mailer?: Pick<Mailer, 'send'>
  /** Absent: names and origins are not checked. */
  checks?: Checks
  /** Live updates. Absent: none. */
  subscribe?: Subscribe
  readClient: ReadClient
  vault: Vault
  readMetrics?: ReadMetrics
  version: string
  /** Base URL for users; null: relative. */
  publicUrl: string | null
  clients?: ClientLimits & { failures: number }
  /** Where domains' DNS records must point. Absent or null: not configured. */
  edgeTarget?: EdgeTarget | null
  /** HTTP port of this node's edge. Absent or null: none. */
  edgePort?(): number | null
  /** From which nodes reach origins. Absent: not told. */
  egressAddresses?: readonly string[]
  /** E-mail or URL on `/bot`; null: none. */
  contact: string | null
  /** For `GET /metrics`; null or absent: only from this machine. */
  metricsToken?: string | null
  dashboardDir?: string
}

/** Call after a commit: resolves once this node has processed earlier notifications. Bounded; never rejects. */
type CaughtUp = () => Promise<void>

const USER_AGENT_CHARS = 300

/** IPv6 clients count by their /64. */
export function clientOf(readClient: ReadClient, request: FastifyRequest): SessionClient {
  const { address } = readClient(request.raw)
  return {
    address: address === '' ? '' : clientBlock(address),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS),
  }
}

/** Checks and normalizes an origin. `reason` is for people. */
export type CheckOrigin = (
  raw: string,
) => Promise<{ ok: true; originUrl: string } | { ok: false; reason: string }>

/** Throws `unknown` unless `raw` is a number. */
export function numberFrom(raw: string, unknown: ErrorCode): number {
  if (!/^[1-9]\d{0,14}$/.test(raw)) throw new AppError(unknown)
  return Number(raw)
}

export function countText(count: number, one: 'page' | 'domain' | 'cache entry'): string {
  if (count === 1) return `1 ${one}`
  return `${count} ${one === 'cache entry' ? 'cache entries' : `${one}s`}`
}
