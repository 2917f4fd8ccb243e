import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MasterKeyError } from '../../certificates/vault/master-key.ts'
import { AppError } from '../../errors.ts'
import {
  deliveriesSchema,
  deliverySchema,
  listDeliveries,
  replayDelivery,
  testEndpoint,
} from '../../notifications/delivery/deliveries.ts'
import {
  createEndpoint,
  deleteEndpoint,
  endpointChangeSchema,
  endpointSchema,
  listEndpoints,
  newEndpointSchema,
  requireEndpoints,
  updateEndpoint,
} from '../../notifications/delivery/endpoints.ts'
import { pageQuery } from '../../notifications/lists.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

const createdSchema = apiSchema(
  'NewEndpoint',
  endpointSchema.extend({ secret: z.string().describe('Signs deliveries; shown only once') }),
)

const tags = ['Notifications']
const params = z.object({ id: z.string().describe('The `id` in the list') })
const deletedSchema = endpointSchema.pick({ id: true, url: true })
const oneEndpoint = jsonResponse('The endpoint', z.object({ endpoint: endpointSchema }))
const oneDelivery = jsonResponse('The delivery', z.object({ delivery: deliverySchema }))

/** Before the body is read. */
const onRequest = async (request: FastifyRequest) => requireEndpoints(callerOf(request).plan)

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
      ...{ operationId: 'createEndpoint', tags, body: newEndpointSchema },
      summary: 'Add an event endpoint; its secret is shown only once',
      description:
        'Events are sent by POST, signed as Standard Webhooks (https://www.standardwebhooks.com). `slack` sends `{"text": ...}` with the same headers.',
      response: { 201: jsonResponse('The endpoint', z.object({ endpoint: createdSchema })) },
    },
    onRequest,
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      await checkEndpoint(request.body.url)
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
      ...{ operationId: 'updateEndpoint', tags, params, body: endpointChangeSchema },
      summary: 'Change the URL or events of an endpoint, or switch it on or off',
      response: { 200: oneEndpoint },
    },
    handler: async (request) => {
      const { url, is_active } = request.body
      if (is_active === true) requireEndpoints(callerOf(request).plan)
      const named = endpointOf(request)
      if (url !== undefined) await checkEndpoint(url)
      return { endpoint: await updateEndpoint(pool, ...named, request.body) }
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/endpoints/:id',
    config: { access: 'key', refuses: ['endpoint_not_found'] },
    schema: {
      ...{ operationId: 'deleteEndpoint', tags, summary: 'Remove an endpoint and its deliveries', params },
      response: { 200: jsonResponse('What was removed', z.object({ deleted: deletedSchema })) },
    },
    handler: async (request) => ({ deleted: await deleteEndpoint(pool, ...endpointOf(request)) }),
  })
  deliveries(app, deps)
}

function deliveries(app: ApiApp, { pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/endpoints/:id/deliveries',
    config: { access: 'key', refuses: ['endpoint_not_found'] },
    schema: {
      ...{ operationId: 'listDeliveries', tags, params, querystring: pageQuery },
      summary: 'The deliveries to an endpoint of the last 30 days, newest first',
      response: { 200: jsonResponse('The deliveries', deliveriesSchema) },
    },
    handler: async (request) => listDeliveries(pool, ...endpointOf(request), request.query),
  })

  app.route({
    method: 'POST',
    url: '/api/endpoints/:id/test',
    config: { access: 'key', refuses: ['plan_without_endpoints', 'endpoint_not_found', 'delivery_rate'] },
    schema: {
      ...{ operationId: 'testEndpoint', tags, params, response: { 202: oneDelivery } },
      summary: 'Send an `endpoint.test` event, once; also to an endpoint that is switched off',
    },
    onRequest,
    handler: async (request, reply) =>
      reply.code(202).send({ delivery: await testEndpoint(pool, ...endpointOf(request)) }),
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
    onRequest,
    handler: async (request, reply) => {
      const named = [callerOf(request).account, numberFrom(request.params.id, 'delivery_not_found')] as const
      return reply.code(202).send({ delivery: await replayDelivery(pool, ...named) })
    },
  })
}

const endpointOf = (request: Pick<FastifyRequest, 'caller'> & { params: { id: string } }) =>
  [callerOf(request).account, numberFrom(request.params.id, 'endpoint_not_found')] as const
