import { ERROR_CODES, ERROR_HEADER, type ErrorCode } from '@prepaint/contract/errors.ts'
import { actionRow } from '@prepaint/contract/roles.ts'
import Fastify, { type FastifySchema, type RouteOptions } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject, serializerCompiler } from 'fastify-type-provider-zod'
import { type Access, needsFresh } from './access.ts'
import type { ApiApp } from './app.ts'
import { errorResponses } from './responses.ts'
import { cookieName } from './session-access.ts'
import { checkAgainstSchema, NO_COMPILERS } from './validation.ts'

const KEY_ERRORS = [
  'api_key_required',
  'invalid_api_key',
  'plan_without_api',
  'account_suspended',
  'cross_site',
  'too_many_failures',
  'database_unavailable',
] as const
const PERSON_ERRORS = ['sign_in_required', 'account_suspended', 'cross_site', 'database_unavailable'] as const
const SHARE_ERRORS = ['share_link_invalid', 'share_forbidden'] as const
const MEMBER_ERRORS = [
  'no_account',
  'account_not_found',
  'second_factor_required',
  'role_forbidden',
  'role_limited',
] as const
const SESSION_ERRORS = [...PERSON_ERRORS, ...MEMBER_ERRORS] as const

/** Credentials can be judged only by the database. Open routes that ask it name its error themselves. */
const ACCESS: Record<Access, { takes: readonly string[]; refuses: readonly ErrorCode[] }> = {
  key: {
    takes: ['ApiKey', 'Session'],
    refuses: [...KEY_ERRORS, 'key_forbidden', 'key_limited', ...MEMBER_ERRORS],
  },
  share: {
    takes: ['ShareLink'],
    refuses: ['share_link_invalid', 'account_suspended', 'too_many_failures', 'database_unavailable'],
  },
  'front-key': { takes: ['BearerKey', 'PrerenderKey', 'ApiKey'], refuses: [...KEY_ERRORS, 'ended_api_key'] },
  'middleware-form': { takes: ['PrerenderKey', 'ApiKey'], refuses: [] },
  session: { takes: ['Session'], refuses: SESSION_ERRORS },
  person: { takes: ['Session'], refuses: PERSON_ERRORS },
  operator: { takes: ['Session'], refuses: [...PERSON_ERRORS, 'operator_required'] },
  token: {
    takes: ['WebhookToken'],
    refuses: [
      'webhook_header_missing',
      'invalid_token',
      'account_suspended',
      'plan_without_webhooks',
      'domain_inactive',
      'webhook_rate',
      'too_many_failures',
      'database_unavailable',
    ],
  },
  scrape: { takes: [], refuses: [] },
  open: { takes: [], refuses: [] },
}

/** Adds security and error responses, derived from access, method and input. */
function completeSchema(route: RouteOptions): void {
  const { config, schema, method, validatorCompiler } = route
  if (schema === undefined || schema.hide === true || config?.access === undefined) return
  const { takes, refuses } = ACCESS[config.access]
  const hasChecks = (schema.body ?? schema.querystring) !== undefined && validatorCompiler === undefined
  const codes = new Set<ErrorCode>(refuses)
  const isShared = config.action !== undefined && actionRow(config.action).share !== undefined
  if (isShared) for (const code of SHARE_ERRORS) codes.add(code)
  if (method !== 'GET' && method !== 'HEAD') for (const code of BODY_ERRORS) codes.add(code)
  if (hasChecks) codes.add('invalid_field')
  for (const code of config.refuses ?? []) codes.add(code)
  if (needsFresh(config)) codes.add('confirm_needed')
  if (config.isOwnWay === true) codes.add('sign_in_not_found')
  codes.add('too_many_requests')
  codes.add('internal')
  const described = schema.response as object
  const completed: FastifySchema = { ...schema, response: { ...errorResponses(codes), ...described } }
  const schemes = isShared ? [...takes, 'ShareLink'] : takes
  if (schemes.length > 0) completed.security = schemes.map((name) => ({ [name]: [] }))
  route.schema = completed
}

const BODY_ERRORS = ['invalid_json', 'malformed_request', 'body_too_large', 'content_type'] as const

/** Completes the schemas of the routes that are added later. Returns a function that makes the OpenAPI document of them. */
export function describeRoutes(app: ApiApp, options: DocumentOptions): () => Promise<object> {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    completeSchema(route)
    if (route.method !== 'HEAD') routes.push(route)
  })
  let document: Promise<object> | null = null
  return () => {
    document ??= documentOf(routes, options)
    return document
  }
}

type DocumentOptions = { version: string; publicUrl: string | null }

/** The library needs 90 modules, for which no start should wait. It documents the routes of an application, so it gets one that serves nobody. */
async function documentOf(
  routes: readonly RouteOptions[],
  { version, publicUrl }: DocumentOptions,
): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger')
  const app = Fastify({ exposeHeadRoutes: false, schemaController: { compilersFactory: NO_COMPILERS } })
  app.setValidatorCompiler(checkAgainstSchema)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Prepaint',
        version,
        description: `Domains, render cache, traffic and webhooks. All bodies are JSON; tables are also available as CSV. Times are UTC. Programs go by the code in \`${ERROR_HEADER}\` of an error; its text is for people.`,
      },
      servers: [{ url: publicUrl ?? '/' }],
      components: {
        securitySchemes: {
          ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
          BearerKey: { type: 'http', scheme: 'bearer' },
          PrerenderKey: { type: 'apiKey', in: 'header', name: 'X-Prerender-Token' },
          Session: {
            type: 'apiKey',
            in: 'cookie',
            name: cookieName(publicUrl),
          },
          ShareLink: { type: 'apiKey', in: 'header', name: 'X-Share-Token' },
          WebhookToken: { type: 'http', scheme: 'bearer' },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => cleaned(withErrorCodes(jsonSchemaTransformObject(document))),
  })
  for (const { method, url, schema } of routes) {
    app.route({ method, url, schema, handler: () => {} })
  }
  await app.ready()
  return app.swagger()
}

type Responses = Record<string, { headers?: object; content?: Record<string, object> }>
type Described = {
  paths?: Record<string, Record<string, { responses?: Responses }>>
  components?: Record<string, Record<string, unknown>>
}

/** Adds the header that each error has. The library leaves headers out of responses with a content. */
function withErrorCodes(given: object): object {
  const document = given as Described
  const header = {
    description: 'What is wrong, for programs. Codes do not change; there may be new ones',
    schema: { $ref: '#/components/schemas/ErrorCode' },
  }
  for (const methods of Object.values(document.paths ?? {})) {
    for (const { responses = {} } of Object.values(methods)) {
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) < 400 || response.content?.['application/json'] === undefined) continue
        response.headers = { [ERROR_HEADER]: { $ref: '#/components/headers/ErrorCode' } }
      }
    }
  }
  const { components = {} } = document
  const schemas = { ...components['schemas'], ErrorCode: { type: 'string', enum: ERROR_CODES } }
  const headers = { ...components['headers'], ErrorCode: header }
  return { ...document, components: { ...components, schemas, headers } }
}

/** Removes duplicate request schemas, integer bounds and zod's formats. */
function cleaned(document: object): object {
  return JSON.parse(JSON.stringify(document, cleanedField)) as object
}

function cleanedField(key: string, value: unknown): unknown {
  if ((key === 'maximum' || key === 'minimum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) {
    return undefined
  }
  if (key === 'format' && value === 'starts_with') return undefined
  if (key === 'schemas') {
    return Object.fromEntries(Object.entries(value as object).filter(([name]) => !name.endsWith('Input')))
  }
  if (key === 'requestBody') {
    const body = value as { content: Record<string, { schema: { type?: string; required?: string[] } }> }
    const [content] = Object.values(body.content)
    const { type, required = [] } = content!.schema
    return { ...body, required: type !== 'object' || required.length > 0 }
  }
  return value
}
