import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import { AppError, type ErrorCode } from '@prepaint/contract/errors.ts'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import type { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { clientBlock, type ReadClient } from '@prepaint/runtime/http/client-address.ts'
import type { ClientLimits } from '@prepaint/runtime/http/client-limits.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { SessionClient } from '@prepaint/service/accounts/sign-in/sessions.ts'
import type { SingleSignOn } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import type { MailSender } from '@prepaint/service/mail/mailer.ts'
import type { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'
import type { DomainProofs } from '@prepaint/service/sites/proof/domain-proofs.ts'
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
import type { CheckIntegration } from '../fronts/front-state.ts'
import type { PageIntegrations } from '../fronts/integration.ts'
import type { FrontRefusals } from '../fronts/middleware-form.ts'
import type { Subscribe } from '../service/events.ts'
import type { CheckEdge, CheckReadiness, ReadMetrics } from '../service/health.ts'

export type ApiApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

/** What has a life. The caller starts these objects, and closes them after the server. */
export type ApiParts = {
  pool: pg.Pool
  /** Where the bodies of pages are. */
  bodies: BodyStore
  /** Looks up keys, tokens and sessions. */
  accessDb: Queryable
  clock: Clock
  log: Log
  vault: Vault
  /** Null if e-mail is not configured. */
  mailer: MailSender | null
  /** Null if no provider of single sign-on is configured. */
  singleSignOn: SingleSignOn | null
  /** Knows what is served as robots.txt. */
  robots: RobotsFiles
  /** Checks names and origins from outside. */
  checks: Checks
  /** Knows whether names are accounts' own. */
  proofs: DomainProofs
  /** Checks the selectors of rules as the browser reads them. */
  selectors: SelectorCheck
  integrations: PageIntegrations
  /** Notes which fronts are refused. */
  evidence: FrontRefusals
  /** Sends the site of a domain a request as a crawler. */
  checkIntegration: CheckIntegration
  readClient: ReadClient
  subscribe: Subscribe
  caughtUp: CaughtUp
  checkOrigin: CheckOrigin
  /** Throws `invalid_endpoint`. */
  checkEndpoint(url: string): Promise<void>
  checkReadiness: CheckReadiness
  /** Is null on a node without an edge. */
  checkEdge: CheckEdge | null
  readMetrics: ReadMetrics
  /** Returns the HTTP port of this node's edge, or null if no edge listens here. */
  edgePort(): number | null
}

export type ApiOptions = {
  plans: PlanCatalogue
  version: string
  /** Base URL for users. URLs are relative if it is null. */
  publicUrl: string | null
  clients: ApiClientLimits
  /** Domains' DNS records must point here. Null if it is not configured. */
  edgeTarget: EdgeTarget | null
  /** Nodes reach origins from these addresses. Empty if they are not configured. */
  egressAddresses: readonly string[]
  /** E-mail address or URL on `/bot`. The page names no contact if it is null. */
  contact: string | null
  /** How long a sign-in or confirmation lasts for actions that need a fresh one. */
  confirmSeconds: number
  /** `GET /metrics` requires it. If it is null, only this machine gets metrics. */
  metricsToken: string | null
  /** Of which new domains a proof is asked. */
  domainProof: ProofMode
  /** Divides the days until an account is deleted. 1, but in tests. */
  notifySpeed: number
  /** Directory of the built dashboard. Default: the one of this checkout or package. */
  dashboardDir?: string | undefined
}

/** `failures`: requests with invalid secrets per client and window; further ones are refused. */
export type ApiClientLimits = ClientLimits & { failures: number }

/** No passwords and no passkeys. */
export function isOnlySso({ singleSignOn }: Pick<ApiParts, 'singleSignOn'>): boolean {
  return singleSignOn?.settings.isOnly === true
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
