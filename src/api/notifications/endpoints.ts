import { z } from 'zod'
import { MasterKeyError } from '../../certificates/vault/master-key.ts'
import { AppError } from '../../errors.ts'
import {
  ERRORS,
  listDeliveries,
  replayDelivery,
  testEndpoint,
} from '../../notifications/delivery/deliveries.ts'
import {
  createEndpoint,
  deleteEndpoint,
  EVENT_TYPES,
  listEndpoints,
  updateEndpoint,
} from '../../notifications/delivery/endpoints.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema, type CheckEndpoint, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { afterParameter, limitParameter, time } from './incidents.ts'

const eventsField = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .describe('Types of events; default: all but `report.weekly`')
const urlField = z.string().describe('https, port 443 or from 1024 up')
const idParams = z.object({ id: z.string().describe('The `id` in the list') })

const endpointFields = {
  id: z.int(),
  url: z.string(),
  format: z.enum(['standard', 'slack']),
  events: z.array(z.enum(EVENT_TYPES)),
  is_active: z.boolean(),
  created_at: time,
  failing_since: time.nullable().describe('Since when no delivery succeeded; null: the last one did'),
  switched_off_at: time.nullable().describe('Switched off after three days of failures, or by status 410'),
}
export const endpointSchema = apiSchema('Endpoint', z.object(endpointFields))
const newEndpointSchema = apiSchema(
  'NewEndpoint',
  z.object({ ...endpointFields, secret: z.string().describe('Signs deliveries; shown only once') }),
)

export const deliverySchema = apiSchema(
  'Delivery',
  z.object({
    id: z.int(),
    event_id: z.string().describe('The `webhook-id`: the same for every endpoint, attempt and replay'),
    type: z.string(),
    state: z.enum(['waiting', 'delivered', 'failed', 'cancelled']),
    attempts: z.int(),
    created_at: time,
    last_attempt_at: time.nullable(),
    next_attempt_at: time.nullable(),
    status: z.int().nullable().describe('HTTP status of the last attempt; null: no HTTP answer came'),
    error: z.enum(ERRORS).nullable().describe('Why no answer came, or `redirect`'),
    answer: z.string().nullable().describe('The first 1,000 characters of the answer'),
    ms: z.int().nullable(),
    replay_of: z.int().nullable().describe('The delivery that this one repeats'),
  }),
)

const bodySchema = z.object({
  url: urlField,
  format: z.enum(['standard', 'slack']).optional(),
  events: eventsField.optional(),
})
const changeSchema = z.object({
  url: urlField.optional(),
  events: eventsField.optional(),
  is_active: z.boolean().optional().describe('false: cancels what waits; true: forgets past failures'),
})

const TAGS = ['Notifications']

export function endpoints(app: ApiApp, deps: ApiDeps): void {
  const { pool, checkEndpoint, vault } = deps

  app.route({
    method: 'GET',
    url: '/api/endpoints',
    config: { access: 'key' },
    schema: {
      operationId: 'listEndpoints',
      tags: TAGS,
      summary: 'The event endpoints of the account, oldest first',
      response: { 200: jsonResponse('The endpoints', z.object({ endpoints: z.array(endpointSchema) })) },
    },
    handler: async (request) => ({ endpoints: await listEndpoints(pool, callerOf(request).account) }),
  })

  app.route({
    method: 'POST',
    url: '/api/endpoints',
    config: {
      access: 'key',
      refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_limit', 'secrets_unavailable'],
    },
    schema: {
      operationId: 'createEndpoint',
      tags: TAGS,
      summary: 'Add an event endpoint; its secret is shown only once',
      description:
        'Events are sent by POST, signed as Standard Webhooks (https://www.standardwebhooks.com). `slack` sends `{"text": ...}` with the same headers.',
      body: bodySchema,
      response: { 201: jsonResponse('The endpoint', z.object({ endpoint: newEndpointSchema })) },
    },
    // Check before reading the body.
    onRequest: async (request) => requirePlan(callerOf(request).plan),
    handler: async (request, reply) => {
      await checkUrl(checkEndpoint, request.body.url)
      const endpoint = await createEndpoint(pool, vault, callerOf(request).account, request.body).catch(
        unsealable,
      )
      return reply.code(201).send({ endpoint })
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/endpoints/:id',
    config: { access: 'key', refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_not_found'] },
    schema: {
      operationId: 'updateEndpoint',
      tags: TAGS,
      summary: 'Change the URL or events of an endpoint, or switch it on or off',
      params: idParams,
      body: changeSchema,
      response: { 200: jsonResponse('The endpoint', z.object({ endpoint: endpointSchema })) },
    },
    handler: async (request) => {
      const { account, plan } = callerOf(request)
      if (request.body.is_active === true) requirePlan(plan)
      const id = numberFrom(request.params.id, 'endpoint_not_found')
      if (request.body.url !== undefined) await checkUrl(checkEndpoint, request.body.url)
      return { endpoint: await updateEndpoint(pool, account, id, request.body) }
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/endpoints/:id',
    config: { access: 'key', refuses: ['endpoint_not_found'] },
    schema: {
      operationId: 'deleteEndpoint',
      tags: TAGS,
      summary: 'Remove an endpoint and its deliveries',
      params: idParams,
      response: {
        200: jsonResponse(
          'What was removed',
          z.object({ deleted: z.object({ id: z.int(), url: z.string() }) }),
        ),
      },
    },
    handler: async (request) => {
      const id = numberFrom(request.params.id, 'endpoint_not_found')
      return { deleted: await deleteEndpoint(pool, callerOf(request).account, id) }
    },
  })
  deliveries(app, deps)
}

function deliveries(app: ApiApp, { pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/endpoints/:id/deliveries',
    config: { access: 'key', refuses: ['endpoint_not_found'] },
    schema: {
      operationId: 'listDeliveries',
      tags: TAGS,
      summary: 'The deliveries to an endpoint of the last 30 days, newest first',
      params: idParams,
      querystring: z.object({ limit: limitParameter, after: afterParameter }),
      response: {
        200: jsonResponse(
          'The deliveries',
          z.object({ deliveries: z.array(deliverySchema), next: z.int().nullable().describe('For `after`') }),
        ),
      },
    },
    handler: async (request) => {
      const id = numberFrom(request.params.id, 'endpoint_not_found')
      const { limit, after } = request.query
      return listDeliveries(pool, callerOf(request).account, id, { limit, after: after ?? null })
    },
  })

  app.route({
    method: 'POST',
    url: '/api/endpoints/:id/test',
    config: { access: 'key', refuses: ['plan_without_endpoints', 'endpoint_not_found', 'delivery_rate'] },
    schema: {
      operationId: 'testEndpoint',
      tags: TAGS,
      summary: 'Send an `endpoint.test` event, once; also to an endpoint that is switched off',
      params: idParams,
      response: { 202: jsonResponse('The delivery', z.object({ delivery: deliverySchema })) },
    },
    onRequest: async (request) => requirePlan(callerOf(request).plan),
    handler: async (request, reply) => {
      const id = numberFrom(request.params.id, 'endpoint_not_found')
      return reply.code(202).send({ delivery: await testEndpoint(pool, callerOf(request).account, id) })
    },
  })

  app.route({
    method: 'POST',
    url: '/api/deliveries/:id/replay',
    config: {
      access: 'key',
      refuses: ['plan_without_endpoints', 'delivery_not_found', 'delivery_waiting', 'delivery_rate'],
    },
    schema: {
      operationId: 'replayDelivery',
      tags: TAGS,
      summary: 'Send the event of a delivery once more, with the same `webhook-id`',
      params: idParams,
      response: { 202: jsonResponse('The new delivery', z.object({ delivery: deliverySchema })) },
    },
    onRequest: async (request) => requirePlan(callerOf(request).plan),
    handler: async (request, reply) => {
      const id = numberFrom(request.params.id, 'delivery_not_found')
      return reply.code(202).send({ delivery: await replayDelivery(pool, callerOf(request).account, id) })
    },
  })
}

function requirePlan(plan: { webhooks: boolean }): void {
  if (!plan.webhooks) throw new AppError('plan_without_endpoints')
}

async function checkUrl(check: CheckEndpoint, raw: string): Promise<void> {
  const checked = await check(raw)
  if (!checked.ok) throw new AppError('invalid_endpoint', { word: checked.reason })
}

export function unsealable(cause: unknown): never {
  throw cause instanceof MasterKeyError ? new AppError('secrets_unavailable', { cause }) : cause
}
