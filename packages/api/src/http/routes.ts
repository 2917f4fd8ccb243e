import { domainParams } from '@prepaint/contract/api/domain.ts'
import { AppError, type ErrorCode } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import type { Plan } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { findOwnedDomain, type OwnedDomain } from '@prepaint/service/sites/domains.ts'
import type { FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import type { z } from 'zod'
import { callerOf } from './access.ts'
import type { ApiApp } from './app.ts'
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
    | ResponseContent<z.ZodType, 'image/webp'>
    | z.ZodNull
  >
  refuses?: readonly ErrorCode[]
  /** Reads a list of `body` or CSV by itself, up to so many bytes. */
  takesCsv?: number
  /** Checked before the body is read. */
  mayUse?: (plan: Plan) => void
  handler(
    subject: Subject,
    request: Asked<Params, Query, Body>,
    reply: FastifyReply,
  ): Promise<z.input<Answer> | FastifyReply>
}

type AddRoute<Subject> = <
  Answer extends z.ZodType,
  Params extends Fields = Fields,
  Query extends Fields = Fields,
  Body extends z.ZodType = z.ZodUnknown,
>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  operationId: string,
  route: Route<Subject, Params, Query, Body, Answer>,
) => void

/** Adds a route for an API key or a session (`key`), a session only, or the session of an operator. Its handler gets the account. */
export function accountRoutes(
  app: ApiApp,
  tag: string,
  access: 'key' | 'session' | 'operator' = 'key',
): AddRoute<AccountId> {
  return (method, url, operationId, route) => {
    const { refuses = [], takesCsv, mayUse, query, handler, ...described } = route
    const schema: FastifySchema = { operationId, tags: [tag], ...described }
    if (query !== undefined) schema.querystring = query
    const options: RouteOptions = {
      method,
      url,
      config: { access, refuses },
      schema,
      handler: (request, reply) =>
        handler(callerOf(request).account, request as Parameters<typeof handler>[1], reply),
    }
    if (takesCsv !== undefined) {
      options.config = { access, refuses, takesCsv: true }
      options.bodyLimit = takesCsv
      options.validatorCompiler = checkAllButBody
    }
    if (mayUse !== undefined) options.onRequest = async (request) => mayUse(callerOf(request).plan)
    app.route(options as Parameters<typeof app.route>[0])
  }
}

/** Below `/api/domains/:domain/`. The handler gets the domain, if the account owns it. */
export function domainRoutes(
  app: ApiApp,
  pool: Queryable,
  tag: string,
): AddRoute<OwnedDomain & { account: AccountId }> {
  const add = accountRoutes(app, tag)
  return (method, path, operationId, route) => {
    const params = domainParams.extend(route.params?.shape ?? {})
    add(method, `/api/domains/:domain/${path}`, operationId, {
      ...route,
      params,
      refuses: ['domain_not_found', ...(route.refuses ?? [])],
      handler: async (account, request: FastifyRequest, reply) => {
        const domain = await ownedDomain(pool, account, (request.params as { domain: string }).domain)
        return route.handler({ ...domain, account }, request as Parameters<typeof route.handler>[1], reply)
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

/** Throws `domain_not_found` unless the account owns it. */
export async function ownedDomain(db: Queryable, account: AccountId, raw: string): Promise<OwnedDomain> {
  const domain = await findOwnedDomain(db, account, domainNameFrom(raw))
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}
