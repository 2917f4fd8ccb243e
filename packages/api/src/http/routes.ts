import { domainParams } from '@prepaint/contract/api/domain.ts'
import { AppError, type ErrorCode } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName, Scope } from '@prepaint/contract/ids.ts'
import { type Action, actionRow } from '@prepaint/contract/roles.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import type { Plan } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Session } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { findOwnedDomain, type OwnedDomain } from '@prepaint/service/sites/domains.ts'
import type { FastifyContextConfig, FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import type { z } from 'zod'
import { callerOf, sessionOf } from './access.ts'
import type { ApiApp } from './app.ts'
import type { Heaviness } from './heavy-work.ts'
import type { ResponseContent } from './responses.ts'
import { checkAllButBody } from './validation.ts'

type Fields = z.ZodObject
type Asked<Params extends Fields, Query extends Fields, Body extends z.ZodType> = FastifyRequest & {
  params: z.output<Params>
  query: z.output<Query>
  body: z.output<Body>
}

type Route<
  Subject,
  Params extends Fields,
  Query extends Fields,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> = {
  summary: string
  description?: string
  params?: Params
  query?: Query
  body?: Body
  response: Record<
    number,
    | ResponseContent<Answer>
    | ResponseContent<z.ZodType, 'text/plain'>
    | ResponseContent<z.ZodType, 'application/x-ndjson'>
    | ResponseContent<z.ZodType, 'image/webp'>
    | z.ZodNull
  >
  refuses?: readonly ErrorCode[]
  /** Reads a list of `body` or CSV by itself, up to so many bytes. */
  takesCsv?: number
  /** Reads a picture by itself. */
  takesPicture?: boolean
  /** Of a person: it must have proved a short time ago who it is. Of actions `@prepaint/contract/roles.ts` says it. */
  isFresh?: boolean
  /** It is about passwords, passkeys or codes: closed where single sign-on is the only way. */
  isOwnWay?: boolean
  /** It takes much of PostgreSQL: it waits for a place of its account (`HeavyWork`). null: this request does not. */
  heaviness?: Heaviness | ((request: Asked<Params, Query, Body>) => Heaviness | null)
  /** Checked before the body is read. */
  mayUse?: (plan: Plan) => void
  handler(
    subject: Subject,
    request: Asked<Params, Query, Body>,
    reply: FastifyReply,
  ): Promise<z.input<Answer> | FastifyReply>
}

type AddRoute<Subject, Name extends string = string> = <
  Answer extends z.ZodType,
  Params extends Fields = Fields,
  Query extends Fields = Fields,
  Body extends z.ZodType = z.ZodUnknown,
>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  operationId: Name,
  route: Route<Subject, Params, Query, Body, Answer>,
) => void

/**
 * Adds a route of an account, named by an action of `@prepaint/contract/roles.ts`: that says who may use it. Its handler gets
 * what the caller may use of the account.
 */
export function accountRoutes(app: ApiApp, tag: string): AddRoute<Scope, Action> {
  return (method, url, action, route) => {
    const { mayUse, heaviness, ...others } = route
    const config: FastifyContextConfig = {
      access: actionRow(action).right === null ? 'session' : 'key',
      action,
    }
    if (mayUse !== undefined) config.mayUse = mayUse
    const scopeOf = (request: FastifyRequest) => callerOf(request).scope
    const added = { tag, method, url, operationId: action, config }
    if (heaviness === undefined) {
      addRoute(app, added, others, scopeOf)
      return
    }
    const { refuses = [], handler } = others
    const inPlace: typeof handler = (scope, request, reply) => {
      const found = typeof heaviness === 'function' ? heaviness(request) : heaviness
      if (found === null) return handler(scope, request, reply)
      return app.heavyWork.run(found, scope.account, () => handler(scope, request, reply), reply.raw)
    }
    addRoute(app, added, { ...others, refuses: [...refuses, 'account_busy'], handler: inPlace }, scopeOf)
  }
}

/** Adds a route for whoever is signed in, in an account or not. Its handler gets the session. */
export function personRoutes(app: ApiApp, tag: string): AddRoute<Session> {
  return (method, url, operationId, { isFresh = false, ...route }) =>
    addRoute(app, { tag, method, url, operationId, config: { access: 'person', isFresh } }, route, sessionOf)
}

/** Adds a route for operators. Its handler gets the session. */
export function operatorRoutes(app: ApiApp): AddRoute<Session> {
  const tag = 'Operator'
  return (method, url, operationId, route) =>
    addRoute(app, { tag, method, url, operationId, config: { access: 'operator' } }, route, sessionOf)
}

/** As the OpenAPI document names them. */
const PICTURES = ['image/png', 'image/webp']

function addRoute<
  Subject,
  Answer extends z.ZodType,
  Params extends Fields,
  Query extends Fields,
  Body extends z.ZodType,
>(
  app: ApiApp,
  added: { tag: string; method: string; url: string; operationId: string; config: FastifyContextConfig },
  route: Omit<Route<Subject, Params, Query, Body, Answer>, 'mayUse' | 'heaviness'>,
  subjectOf: (request: FastifyRequest) => Subject,
): void {
  const {
    refuses = [],
    takesCsv,
    takesPicture = false,
    isOwnWay = false,
    query,
    handler,
    ...described
  } = route
  const { tag, method, url, operationId } = added
  const schema: FastifySchema = { operationId, tags: [tag], ...described }
  if (query !== undefined) schema.querystring = query
  const options: RouteOptions = {
    method: method as RouteOptions['method'],
    url,
    config: { ...added.config, refuses, isOwnWay },
    schema,
    handler: (request, reply) => handler(subjectOf(request), request as Parameters<typeof handler>[1], reply),
  }
  if (takesCsv !== undefined) {
    options.config = { ...added.config, refuses, isOwnWay, takesCsv: true }
    options.bodyLimit = takesCsv
    options.validatorCompiler = checkAllButBody
  }
  if (takesPicture) {
    options.config = { ...added.config, refuses, takesPicture }
    options.validatorCompiler = checkAllButBody
    Object.assign(schema, { consumes: PICTURES })
  }
  app.route(options as Parameters<typeof app.route>[0])
}

/** Below `/api/domains/:domain/`. The handler gets the domain, if the account owns it. */
export function domainRoutes(
  app: ApiApp,
  pool: Queryable,
  tag: string,
): AddRoute<OwnedDomain & { account: AccountId }, Action> {
  const add = accountRoutes(app, tag)
  return (method, path, operationId, route) => {
    const params = domainParams.extend(route.params?.shape ?? {})
    const { heaviness } = route
    add(method, `/api/domains/:domain/${path}`, operationId, {
      ...route,
      params,
      heaviness:
        typeof heaviness === 'function'
          ? (request: FastifyRequest) => heaviness(request as Parameters<typeof heaviness>[0])
          : heaviness,
      refuses: ['domain_not_found', ...(route.refuses ?? [])],
      handler: async (scope, request: FastifyRequest, reply) => {
        const domain = await ownedDomain(pool, scope, (request.params as { domain: string }).domain)
        return route.handler(
          { ...domain, account: scope.account },
          request as Parameters<typeof route.handler>[1],
          reply,
        )
      },
    })
  }
}

/** Throws `domain_not_found` for an invalid name. */
export function domainNameFrom(raw: string): DomainName {
  const parsed = parseDomainName(raw)
  if (!parsed.ok) throw new AppError('domain_not_found')
  return parsed.name
}

/** Throws `domain_not_found` for an invalid name, and for a domain that is not within the scope. */
export async function domainNameWithin(db: Queryable, scope: Scope, raw: string): Promise<DomainName> {
  const name = domainNameFrom(raw)
  // The statements that follow filter by account.
  if (scope.domains === null) return name
  return (await ownedDomain(db, scope, raw)).name
}

/** Throws `domain_not_found` unless the account owns it and it is within the scope. */
export async function ownedDomain(db: Queryable, scope: Scope, raw: string): Promise<OwnedDomain> {
  const domain = await findOwnedDomain(db, scope, domainNameFrom(raw))
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}
