import type { CONFIRM_WAYS } from '@prepaint/contract/api/account.ts'
import type { BrandingView } from '@prepaint/contract/api/branding.ts'
import { AppError, type ErrorCode, unreachable } from '@prepaint/contract/errors.ts'
import type { AccountId, Scope } from '@prepaint/contract/ids.ts'
import type { PageUrl } from '@prepaint/contract/page/path.ts'
import { type Action, actionRow, hasRole, mayShare, type Right } from '@prepaint/contract/roles.ts'
import { type Plan, type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { type Acting, actAs, whoActs } from '@prepaint/postgres/audit/acting.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { findKeyOwner, findTokenOwner, type TokenOwner } from '@prepaint/service/accounts/access.ts'
import type { Actor, Changer } from '@prepaint/service/accounts/actor.ts'
import { readBranding } from '@prepaint/service/accounts/branding.ts'
import type { LastUse } from '@prepaint/service/accounts/last-use.ts'
import { findExpired, findShared, type Shared } from '@prepaint/service/accounts/share-links.ts'
import { type Entry, type Session, takeSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { WEBHOOK_RATE } from '@prepaint/service/accounts/webhook-window.ts'
import { type FrontKey, findFrontKey } from '@prepaint/service/fronts/front-keys.ts'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { frontKeyOf, mayAsk, mayNote } from '../fronts/middleware-form.ts'
import { RefusedOffers } from '../fronts/refused-offers.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf, isOnlySso } from './app.ts'
import {
  bearerToken,
  checkOperator,
  checkSameSite,
  sessionToken,
  setSessionCookie,
} from './session-access.ts'

/**
 * What a route requires. Every route names one; there is no default. `key`: an API key or the session of a member, and
 * `session`: that of a member, who may do the route's action (`@prepaint/contract/roles.ts`); `person`: that of a person, in an account or not;
 * `share`: a share link, in `X-Share-Token`, which routes with `key` take for actions that it may do;
 * `front-key`: an API key or a site token, as Bearer token or where middlewares put it; `middleware-form`: checked by
 * `MiddlewareForm`; `scrape`: see `checkOperator`.
 */
export type Access =
  | 'key'
  | 'session'
  | 'person'
  | 'operator'
  | 'share'
  | 'front-key'
  | 'middleware-form'
  | 'token'
  | 'scrape'
  | 'open'

/** Who acts for an account. `scope`: what of the account it may use. */
export type Caller = { account: AccountId; scope: Scope; plan: Plan } & (
  | { session: Session; member: Entry; keyId: null; share: null }
  | { session: null; member: null; keyId: null; share: Shared }
  | { session: null; member: null; keyId: number; keyName: string; rights: readonly Right[]; share: null }
)

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** With `key` and `session`: what the caller must be allowed to do. */
    action?: Action
    /** Throws if the caller's plan does not include the route. */
    mayUse?: (plan: Plan) => void
    /** A person must have proved a short time ago who it is. Of actions `@prepaint/contract/roles.ts` says it. */
    isFresh?: boolean
    /** It is about passwords, passkeys or codes: closed where single sign-on is the only way. */
    isOwnWay?: boolean
    /** The route's own errors for the OpenAPI document; access and input errors are added. */
    refuses?: readonly ErrorCode[]
    /** Takes `text/csv` beside JSON, and gives the route its text. */
    takesCsv?: boolean
    /** Takes any body, and gives the route its bytes. */
    takesPicture?: boolean
  }
  interface FastifyRequest {
    caller: Caller | null
    session: Session | null
    tokenOwner: TokenOwner | null
    frontKey: WorkingKey | null
  }
}

type WorkingKey = Extract<FrontKey, { state: 'working' }>

/** Checks every route before reading its body. Routes without `config.access` fail at startup. */
export function guardRoutes(app: ApiApp, parts: ApiParts, lastUse: LastUse, options: ApiOptions): void {
  const checks = new AccessChecks(parts, lastUse, options)
  app.decorateRequest('caller', null)
  app.decorateRequest('session', null)
  app.decorateRequest('tokenOwner', null)
  app.decorateRequest('frontKey', null)

  app.addHook('onRoute', (route) => {
    const { access, action } = route.config ?? {}
    if (access === undefined) throw new Error(`${route.method} ${route.url} names no access`)
    if ((access === 'key' || access === 'session') && action === undefined) {
      throw new Error(`${route.method} ${route.url} names no action`)
    }
  })

  app.addHook('onRequest', async (request, reply) => {
    const { access, isOwnWay = false } = request.routeOptions.config
    if (isOwnWay && isOnlySso(parts)) throw new AppError('sign_in_not_found')
    if (takesShares(access) && request.headers[SHARE_HEADER] !== undefined) {
      request.caller = await checks.share(request)
      checkShare(request.caller, request.routeOptions.config)
      return
    }
    switch (access) {
      case 'key':
        request.session = await checks.session(request, reply)
        request.caller =
          request.session === null
            ? await checks.key(request.headers['x-api-key'])
            : checks.member(request.session)
        checkCaller(request.caller, request.routeOptions.config)
        checks.fresh(request.session, request.routeOptions.config)
        return
      case 'session':
        request.session = await signedIn(request, reply)
        request.caller = checks.member(request.session)
        checkCaller(request.caller, request.routeOptions.config)
        checks.fresh(request.session, request.routeOptions.config)
        return
      case 'person':
        request.session = await signedIn(request, reply)
        checks.fresh(request.session, request.routeOptions.config)
        return
      case 'operator':
        request.session = await signedIn(request, reply)
        if (!request.session.isOperator) throw new AppError('operator_required')
        return
      case 'share':
        throw new AppError('share_link_invalid')
      case 'front-key':
        request.frontKey = await checks.frontKey(request)
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

  // A client can take a minute for the body. Meanwhile its session may have been ended, because somebody stole the cookie.
  app.addHook('preHandler', async (request, reply) => {
    if (hasBody(request)) await checks.again(request, reply)
  })

  // Body parsers run outside of what came before, so this is the last hook before the handler.
  app.addHook('preHandler', (request, _reply, done) => actAs(actingOf(request, parts), done))

  async function signedIn(request: FastifyRequest, reply: FastifyReply): Promise<Session> {
    const session = await checks.session(request, reply)
    if (session === null) throw new AppError('sign_in_required')
    return session
  }
}

/**
 * Checks what the plan must include, then the role of a member or the rights of an API key. Throws what the route says of
 * plans, `role_forbidden` or `role_limited`, of a key `key_forbidden` or `key_limited`.
 */
function checkCaller(caller: Caller, { action, mayUse }: FastifyContextConfig): void {
  if (action === undefined) throw new Error('a route without an action came this far')
  mayUse?.(caller.plan)
  const { role: needs, right, orRight, isAccountWide = false } = actionRow(action)
  if (caller.member === null) {
    // `checkShare` is for share links.
    if (caller.keyId === null) return
    const isAllowed = caller.rights.some((each) => each === right || each === orRight)
    if (!isAllowed) throw new AppError('key_forbidden', { fields: { needs: right } })
    if (isAccountWide && caller.scope.domains !== null) throw new AppError('key_limited')
    return
  }
  const { member } = caller
  const { role, domains } = member
  if (!hasRole(role, needs)) throw new AppError('role_forbidden', { fields: { role, needs } })
  if (isAccountWide && domains !== null) throw new AppError('role_limited')
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

const SHARE_HEADER = 'x-share-token'

/** Beside a key or cookie a share link alone counts, also where it may do nothing. */
function takesShares(access: Access | undefined): boolean {
  return access !== 'open' && access !== 'scrape' && access !== 'middleware-form'
}

/** Throws `share_forbidden`. */
function checkShare({ share }: Caller, { access, action }: FastifyContextConfig): void {
  const isAllowed = access === 'share' || (action !== undefined && mayShare(share?.parts ?? [], action))
  if (!isAllowed) throw new AppError('share_forbidden')
}

/** Who acts, as the audit log names it. Nobody yet, in requests that open a session. */
function actingOf(request: FastifyRequest, { readClient }: ApiParts): Acting {
  const { address, userAgent } = clientOf(readClient, request)
  const { actor, way } = actorOfRequest(request)
  return { actor, way, address, userAgent, requestId: request.id }
}

function actorOfRequest({ caller, session, routeOptions }: FastifyRequest): Pick<Acting, 'actor' | 'way'> {
  if (session !== null) {
    const kind = routeOptions.config.access === 'operator' ? 'operator' : 'person'
    return { actor: { kind, id: session.person, name: session.email }, way: session.way }
  }
  if (caller !== null && caller.keyId !== null) {
    return { actor: { kind: 'key', id: caller.keyId, name: caller.keyName }, way: null }
  }
  return { actor: whoActs().actor, way: null }
}

export function needsFresh({
  action,
  isFresh = false,
}: Pick<FastifyContextConfig, 'action' | 'isFresh'>): boolean {
  return isFresh || (action !== undefined && actionRow(action).isFresh === true)
}

/** Throws `confirm_needed`, with the ways in which the person can, unless it proved a short time ago who it is. */
export function checkFresh(session: Session, nowMs: number, confirmSeconds: number): void {
  if (nowMs - session.confirmedAtMs < confirmSeconds * 1_000) return
  throw confirmNeeded(session)
}

export function confirmNeeded(session: Session): AppError {
  return new AppError('confirm_needed', { fields: { confirm: confirmWays(session) } })
}

/** A second factor is asked for instead of the password, and the provider of single sign-on in its own sessions. */
export function confirmWays({ way, factors }: Session): (typeof CONFIRM_WAYS)[number][] {
  if (way === 'sso') return ['sso']
  const ways: ('totp' | 'passkey')[] = []
  if (factors.totp) ways.push('totp')
  if (factors.passkey) ways.push('passkey')
  return ways.length > 0 ? ways : ['password']
}

/** Clients of the account's owner, and who holds a share link, see less of some things. */
export function isClient({ caller }: Pick<FastifyRequest, 'caller'>): boolean {
  return caller?.member?.role === 'client' || (caller?.share ?? null) !== null
}

export function callerOf(request: Pick<FastifyRequest, 'caller'>): Caller {
  if (request.caller === null) throw new Error('this route is not guarded by a key')
  return request.caller
}

/** As versions name it: an e-mail address, or `key <name>`. */
export function authorOf(request: FastifyRequest): string {
  const name = actorNameOf(request)
  return callerOf(request).keyId === null ? name : `key ${name}`
}

/** An e-mail address, or the name of an API key. */
export function actorNameOf(request: FastifyRequest): string {
  const caller = callerOf(request)
  if (caller.session !== null) return caller.session.email
  if (caller.keyId === null) throw new Error('a share link changes nothing')
  return caller.keyName
}

/** Throws if the route is not guarded by a share link. */
export function sharedOf(request: FastifyRequest): Shared {
  const { share } = callerOf(request)
  if (share === null) throw new Error('this route is not guarded by a share link')
  return share
}

export function sessionOf({ session }: Pick<FastifyRequest, 'session'>): Session {
  if (session === null) throw new Error('this route is not guarded by a session')
  return session
}

export function tokenOwnerOf(request: FastifyRequest): TokenOwner {
  if (request.tokenOwner === null) throw new Error('this route is not guarded by a token')
  return request.tokenOwner
}

export function frontKeyOfRoute({ frontKey }: FastifyRequest): WorkingKey {
  if (frontKey === null) throw new Error("this route is not guarded by a front's key")
  return frontKey
}

export function memberCaller(request: FastifyRequest): Caller & { session: Session; member: Entry } {
  const caller = callerOf(request)
  if (caller.session === null) throw new Error('this route is not guarded by the session of a member')
  return caller
}

/** Who changes members, as the service takes it. */
export function actorOf(request: FastifyRequest): Actor {
  const { member } = memberCaller(request)
  return { member: member.member, role: member.role }
}

/** Who makes a change, as the service takes it: it reads again what the member or API key may do. */
export function changerOf(request: FastifyRequest): Exclude<Changer, null> {
  const { keyId } = callerOf(request)
  return keyId === null ? actorOf(request) : { key: keyId }
}

const ACCOUNT_HEADER = 'x-prepaint-account'

/** The screen on which a person sets up a second factor. */
export const SET_UP = '/account/security'

/** No account has this id. */
const NO_ACCOUNT = 0 as AccountId

/** The account that the request names: `X-Prepaint-Account`, or `?account=` of event streams. */
function namedAccount({ headers, query, routeOptions }: FastifyRequest): AccountId | null {
  // Browsers cannot add headers to event streams.
  const isStream = routeOptions.url?.endsWith('/events') === true
  const inQuery = isStream ? (query as { account?: unknown }).account : undefined
  const raw = headers[ACCOUNT_HEADER] ?? inQuery
  if (raw === undefined) return null
  return typeof raw === 'string' && /^[1-9]\d{0,8}$/.test(raw) ? (Number(raw) as AccountId) : NO_ACCOUNT
}

/**
 * Tells the holder of an expired link whom to ask for a new one, and how the account looks. Headers, since the error is the
 * same for all links.
 */
function expiredHeaders(accountName: string, branding: BrandingView): Record<string, string> {
  const { name, colour, logo_url, show_prepaint } = branding
  return {
    'Prepaint-Ask': encodeURIComponent(name ?? accountName),
    'Prepaint-Branding': encodeURIComponent(JSON.stringify({ name, colour, logo_url, show_prepaint })),
  }
}

class AccessChecks {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #lastUse: LastUse
  readonly #plans: PlanCatalogue
  readonly #publicUrl: string | null
  readonly #refusedOffers: RefusedOffers
  readonly #confirmSeconds: number

  constructor(
    { accessDb, clock, evidence, log }: ApiParts,
    lastUse: LastUse,
    { plans, publicUrl, confirmSeconds }: ApiOptions,
  ) {
    this.#confirmSeconds = confirmSeconds
    this.#refusedOffers = new RefusedOffers(evidence, log)
    this.#db = accessDb
    this.#clock = clock
    this.#lastUse = lastUse
    this.#plans = plans
    this.#publicUrl = publicUrl
  }

  /**
   * Returns the session of the cookie, in the account that the request names. Null if not signed in, or if an API key was sent. Throws
   * `cross_site`.
   */
  async session(
    request: FastifyRequest,
    reply: FastifyReply,
    account = namedAccount(request),
  ): Promise<Session | null> {
    if (request.headers['x-api-key'] !== undefined) return null
    const token = sessionToken(request, this.#publicUrl)
    if (token === undefined) return null
    const { access } = request.routeOptions.config
    // What acts on an account acts on no other than the chosen one.
    const orAnother = access === 'person' || access === 'operator'
    const asked = { account, orAnother }
    const found = await takeSession(this.#db, token, this.#clock.nowMs(), asked)
    if (found === null) return null
    checkSameSite(request)
    const { session, renewed } = found
    if (renewed) setSessionCookie(reply, this.#publicUrl, token)
    return session
  }

  /**
   * Checks the session or API key once more, and reads again what it may do. Only how long ago the person proved who it is stays as it
   * was. Throws as the first check; `account_not_found` if the person is in the account no longer.
   */
  async again(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { caller, session, routeOptions } = request
    const { access } = routeOptions.config
    if (session !== null) {
      const account = caller?.account ?? namedAccount(request)
      const now = await this.session(request, reply, account)
      if (now === null) throw new AppError('sign_in_required')
      if (access === 'operator' && !now.isOperator) throw new AppError('operator_required')
      request.session = now
      if (caller === null) return
      request.caller = this.member(now)
      checkCaller(request.caller, routeOptions.config)
    } else if (caller !== null && caller.keyId !== null) {
      request.caller = await this.key(request.headers['x-api-key'])
      checkCaller(request.caller, routeOptions.config)
    }
  }

  /** Returns the session's person as a member of the account of the request, on any plan. Throws the reason if it cannot enter. */
  member(session: Session): Caller {
    const { entry } = session
    if (entry === 'second_factor_required') throw new AppError(entry, { fields: { set_up: SET_UP } })
    if (typeof entry === 'string') throw new AppError(entry)
    const { account, domains } = entry
    const plan = planNamed(this.#plans, entry.plan)
    return { account, scope: { account, domains }, plan, session, member: entry, keyId: null, share: null }
  }

  /** API keys need no confirmation. Throws `confirm_needed`. */
  fresh(session: Session | null, config: FastifyContextConfig): void {
    if (session === null || !needsFresh(config)) return
    checkFresh(session, this.#clock.nowMs(), this.#confirmSeconds)
  }

  async key(raw: string | string[] | undefined): Promise<Caller> {
    if (raw === undefined || raw === '') throw new AppError('api_key_required')
    const owner = typeof raw === 'string' ? await findKeyOwner(this.#db, raw, this.#clock.nowMs()) : null
    if (owner === null) throw new AppError('invalid_api_key')
    if (owner.suspended) throw new AppError('account_suspended')

    const plan = planNamed(this.#plans, owner.plan)
    if (!plan.api_keys) throw new AppError('plan_without_api')
    this.#lastUse.note('api_key', owner.keyId, owner.lastUsedAt)
    const { account, domains, keyId, name: keyName, rights } = owner
    return {
      account,
      scope: { account, domains },
      plan,
      session: null,
      member: null,
      keyId,
      keyName,
      rights,
      share: null,
    }
  }

  async #endedLink(raw: string | string[] | undefined): Promise<AppError> {
    const expired = typeof raw === 'string' ? await findExpired(this.#db, raw, this.#clock.nowMs()) : null
    if (expired === null) return new AppError('share_link_invalid')
    const branding = await readBranding(this.#db, expired.account)
    return new AppError('share_link_invalid', { headers: expiredHeaders(expired.accountName, branding) })
  }

  async share({ headers }: FastifyRequest): Promise<Caller> {
    const raw = headers[SHARE_HEADER]
    const share = typeof raw === 'string' ? await findShared(this.#db, raw, this.#clock.nowMs()) : null
    if (share === null) throw await this.#endedLink(raw)
    if (share.suspended) throw new AppError('account_suspended')
    this.#lastUse.note('share_link', share.shareId, share.lastUsedAt)
    const { account, domains } = share
    const plan = planNamed(this.#plans, share.plan)
    return { account, scope: { account, domains }, plan, session: null, member: null, keyId: null, share }
  }

  async frontKey({ headers, raw: asked }: FastifyRequest): Promise<WorkingKey> {
    const raw = bearerToken(headers) ?? frontKeyOf(headers)
    if (raw === null || raw === '') throw new AppError('api_key_required')
    const key = await findFrontKey(this.#db, raw, this.#clock.nowMs())
    if (key === null) throw new AppError('invalid_api_key')
    if (key.state === 'dead') {
      await this.#refusedOffers.note(asked, key.account, 'dead-key')
      throw new AppError(key.isSuspended ? 'account_suspended' : 'ended_api_key')
    }
    const isIncident = (url: PageUrl) => mayNote(this.#db, key, url)
    if (!mayAsk(key, this.#plans)) {
      await this.#refusedOffers.note(asked, key.account, 'plan', isIncident)
      throw new AppError('plan_without_api')
    }
    if (!key.mayRefresh) {
      await this.#refusedOffers.note(asked, key.account, 'right', isIncident)
      throw new AppError('key_forbidden', { fields: { needs: 'refresh' } })
    }
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
