import { AppError, type ErrorCode, unreachable } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type Plan, type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { findKeyOwner, findTokenOwner, type TokenOwner } from '@prepaint/service/accounts/access.ts'
import { keyName } from '@prepaint/service/accounts/keys.ts'
import type { LastUse } from '@prepaint/service/accounts/last-use.ts'
import { type Session, takeSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { WEBHOOK_RATE } from '@prepaint/service/accounts/webhook-window.ts'
import { type FrontKey, findFrontKey } from '@prepaint/service/fronts/front-keys.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { frontKeyOf, mayAsk } from '../fronts/middleware-form.ts'
import type { ApiApp, ApiOptions, ApiParts } from './app.ts'
import {
  bearerToken,
  checkOperator,
  checkSameSite,
  sessionToken,
  setSessionCookie,
} from './session-access.ts'

/**
 * What a route requires. Every route names one; there is no default. `front-key`: an API key or a site token, as Bearer
 * token or where middlewares put it; `middleware-form`: checked by `MiddlewareForm`; `scrape`: see `checkOperator`.
 */
export type Access =
  | 'key'
  | 'session'
  | 'operator'
  | 'front-key'
  | 'middleware-form'
  | 'token'
  | 'scrape'
  | 'open'

type Caller = { account: AccountId; plan: Plan } & (
  | { session: Session; keyId: null }
  | { session: null; keyId: number }
)

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** The route's own errors for the OpenAPI document; access and input errors are added. */
    refuses?: readonly ErrorCode[]
    /** Takes `text/csv` beside JSON, and gives the route its text. */
    takesCsv?: boolean
  }
  interface FastifyRequest {
    caller: Caller | null
    tokenOwner: TokenOwner | null
    frontKey: WorkingKey | null
  }
}

type WorkingKey = Extract<FrontKey, { state: 'working' }>

/** Checks every route before reading its body. Routes without `config.access` fail at startup. */
export function guardRoutes(app: ApiApp, parts: ApiParts, lastUse: LastUse, options: ApiOptions): void {
  const checks = new AccessChecks(parts, lastUse, options)
  app.decorateRequest('caller', null)
  app.decorateRequest('tokenOwner', null)
  app.decorateRequest('frontKey', null)

  app.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`${route.method} ${route.url} names no access`)
  })

  app.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config
    switch (access) {
      case 'key':
        request.caller =
          (await checks.session(request, reply)) ?? (await checks.key(request.headers['x-api-key']))
        return
      case 'session':
        request.caller = await checks.session(request, reply)
        if (request.caller === null) throw new AppError('sign_in_required')
        return
      case 'operator':
        request.caller = await checks.session(request, reply)
        if (request.caller === null) throw new AppError('sign_in_required')
        if (request.caller.session?.role !== 'operator') throw new AppError('operator_required')
        return
      case 'front-key':
        request.frontKey = await checks.frontKey(bearerToken(request.headers) ?? frontKeyOf(request.headers))
        return
      case 'middleware-form':
        return
      case 'token':
        request.tokenOwner = await checks.token(request)
        return
      case 'scrape':
        checkOperator(request.raw, options.metricsToken)
        return
      case 'open':
        return
      case undefined:
        throw new Error('a request without a route came this far')
      default:
        unreachable(access)
    }
  })
}

export function callerOf(request: Pick<FastifyRequest, 'caller'>): Caller {
  if (request.caller === null) throw new Error('this route is not guarded by a key')
  return request.caller
}

/** As versions name it: an e-mail address, or `key <name>`. */
export async function authorOf(db: Queryable, request: FastifyRequest): Promise<string> {
  const { session, keyId, account } = callerOf(request)
  return session === null ? `key ${await keyName(db, account, keyId)}` : session.email
}

export function tokenOwnerOf(request: FastifyRequest): TokenOwner {
  if (request.tokenOwner === null) throw new Error('this route is not guarded by a token')
  return request.tokenOwner
}

export function frontKeyOfRoute({ frontKey }: FastifyRequest): WorkingKey {
  if (frontKey === null) throw new Error("this route is not guarded by a front's key")
  return frontKey
}

export function sessionCaller(request: FastifyRequest): Caller & { session: Session } {
  const caller = callerOf(request)
  if (caller.session === null) throw new Error('this route is not guarded by a session')
  return caller
}

class AccessChecks {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #lastUse: LastUse
  readonly #plans: PlanCatalogue
  readonly #publicUrl: string | null

  constructor({ accessDb, clock }: ApiParts, lastUse: LastUse, { plans, publicUrl }: ApiOptions) {
    this.#db = accessDb
    this.#clock = clock
    this.#lastUse = lastUse
    this.#plans = plans
    this.#publicUrl = publicUrl
  }

  /** Returns the caller by session cookie, on any plan. Null if not signed in, or if an API key was sent. Throws `cross_site`. */
  async session(request: FastifyRequest, reply: FastifyReply): Promise<Caller | null> {
    if (request.headers['x-api-key'] !== undefined) return null
    const token = sessionToken(request.headers.cookie, this.#publicUrl)
    if (token === undefined) return null
    const found = await takeSession(this.#db, token, this.#clock.nowMs())
    if (found === null) return null
    checkSameSite(request)
    const { session, renewed } = found
    if (renewed) setSessionCookie(reply, this.#publicUrl, token)
    return { account: session.account, plan: planNamed(this.#plans, session.plan), session, keyId: null }
  }

  async key(raw: string | string[] | undefined): Promise<Caller> {
    if (raw === undefined || raw === '') throw new AppError('api_key_required')
    const owner = typeof raw === 'string' ? await findKeyOwner(this.#db, raw, this.#clock.nowMs()) : null
    if (owner === null) throw new AppError('invalid_api_key')
    if (owner.suspended) throw new AppError('account_suspended')

    const plan = planNamed(this.#plans, owner.plan)
    if (!plan.api_keys) throw new AppError('plan_without_api')
    this.#lastUse.note('api_key', owner.keyId, owner.lastUsedAt)
    return { account: owner.account, plan, session: null, keyId: owner.keyId }
  }

  async frontKey(raw: string | null): Promise<WorkingKey> {
    if (raw === null || raw === '') throw new AppError('api_key_required')
    const key = await findFrontKey(this.#db, raw, this.#clock.nowMs())
    if (key === null) throw new AppError('invalid_api_key')
    if (key.state === 'dead') throw new AppError(key.isSuspended ? 'account_suspended' : 'ended_api_key')
    if (!mayAsk(key, this.#plans)) throw new AppError('plan_without_api')
    this.#lastUse.note(key.kind, key.id, key.lastUsedAt)
    return key
  }

  /** The order is part of the API contract. Requests count from the rate check on, whatever the body contains. */
  async token(request: FastifyRequest): Promise<TokenOwner> {
    const raw = bearerToken(request.headers)
    if (raw === undefined) throw new AppError('webhook_header_missing')
    const owner = await findTokenOwner(this.#db, raw)
    if (owner === null) throw new AppError('invalid_token')
    if (owner.suspended) throw new AppError('account_suspended')
    if (!planNamed(this.#plans, owner.plan).webhooks) throw new AppError('plan_without_webhooks')
    if (!owner.isActive) throw new AppError('domain_inactive')

    const refusal = await WEBHOOK_RATE.take(this.#db, `domain ${owner.domain}`, {
      nowMs: this.#clock.nowMs(),
    })
    if (refusal !== null) throw new AppError('webhook_rate', { headers: refusal.headers })
    this.#lastUse.note('webhook_token', owner.tokenId, owner.lastUsedAt)
    return owner
  }
}
