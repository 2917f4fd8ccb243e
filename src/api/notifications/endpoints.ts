import { z } from 'zod'
import { MasterKeyError } from '../../certificates/vault/master-key.ts'
import { AppError } from '../../errors.ts'
import {
  deliverySchema,
  listDeliveries,
  replayDelivery,
  testEndpoint,
} from '../../notifications/delivery/deliveries.ts'
import {
  createEndpoint,
  deleteEndpoint,
  ENDPOINT_FORMATS,
  EVENT_TYPES,
  endpointSchema,
  listEndpoints,
  updateEndpoint,
} from '../../notifications/delivery/endpoints.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema, type CheckEndpoint, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { nextField, pageParameters } from './incidents.ts'

const newEndpointSchema = apiSchema(
  'NewEndpoint',
  endpointSchema.extend({ secret: z.string().describe('Signs deliveries; shown only once') }),
)

const bodySchema = z.object({
  url: z.string().describe('https, port 443 or from 1024 up'),
  format: z.enum(ENDPOINT_FORMATS).optional(),
  events: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .optional()
    .describe('Types of events; default: all but `report.weekly`'),
})
const changeSchema = bodySchema
  .omit({ format: true })
  .partial()
  .extend({
    is_active: z.boolean().optional().describe('false: cancels what waits; true: forgets past failures'),
  })

const tags = ['Notifications']
const params = z.object({ id: z.string().describe('The `id` in the list') })
const oneEndpoint = jsonResponse('The endpoint', z.object({ endpoint: endpointSchema }))
const oneDelivery = jsonResponse('The delivery', z.object({ delivery: deliverySchema }))

export function endpoints(app: ApiApp, deps: ApiDeps): void {
  const { pool, checkEndpoint, vault } = deps

  app.route({
    method: 'GET',
    url: '/api/endpoints',
    config: { access: 'key' },
    schema: {
      ...{ operationId: 'listEndpoints', tags, summary: 'The event endpoints of the account, oldest first' },
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
      ...{ operationId: 'createEndpoint', tags, body: bodySchema },
      summary: 'Add an event endpoint; its secret is shown only once',
      description:
        'Events are sent by POST, signed as Standard Webhooks (https://www.standardwebhooks.com). `slack` sends `{"text": ...}` with the same headers.',
      response: { 201: jsonResponse('The endpoint', z.object({ endpoint: newEndpointSchema })) },
    },
    // Check before reading the body.
    onRequest: async (request) => requirePlan(callerOf(request).plan),
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      await checkUrl(checkEndpoint, request.body.url)
      const endpoint = await createEndpoint(pool, vault, account, request.body).catch((cause) => {
        throw cause instanceof MasterKeyError ? new AppError('secrets_unavailable', { cause }) : cause
      })
      return reply.code(201).send({ endpoint })
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/endpoints/:id',
    config: { access: 'key', refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_not_found'] },
    schema: {
      ...{ operationId: 'updateEndpoint', tags, params, body: changeSchema, response: { 200: oneEndpoint } },
      summary: 'Change the URL or events of an endpoint, or switch it on or off',
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
      ...{ operationId: 'deleteEndpoint', tags, summary: 'Remove an endpoint and its deliveries', params },
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
      ...{ operationId: 'listDeliveries', tags, params, querystring: z.object(pageParameters) },
      summary: 'The deliveries to an endpoint of the last 30 days, newest first',
      response: {
        200: jsonResponse(
          'The deliveries',
          z.object({ deliveries: z.array(deliverySchema), next: nextField }),
        ),
      },
    },
    handler: async (request) => {
      const id = numberFrom(request.params.id, 'endpoint_not_found')
      return listDeliveries(pool, callerOf(request).account, id, request.query)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/endpoints/:id/test',
    config: { access: 'key', refuses: ['plan_without_endpoints', 'endpoint_not_found', 'delivery_rate'] },
    schema: {
      ...{ operationId: 'testEndpoint', tags, params, response: { 202: oneDelivery } },
      summary: 'Send an `endpoint.test` event, once; also to an endpoint that is switched off',
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
      ...{ operationId: 'replayDelivery', tags, params, response: { 202: oneDelivery } },
      summary: 'Send the event of a delivery once more, with the same `webhook-id`',
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
