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
import { accountRoutes } from '../http/routes.ts'

const createdSchema = apiSchema(
  'NewEndpoint',
  endpointSchema.extend({ secret: z.string().describe('Signs deliveries; shown only once') }),
)

const deletedSchema = endpointSchema.pick({ id: true, url: true })
const params = z.object({ id: z.string().describe('The `id` in the list') })
const oneEndpoint = jsonResponse('The endpoint', z.object({ endpoint: endpointSchema }))
const oneDelivery = jsonResponse('The delivery', z.object({ delivery: deliverySchema }))

const endpointOf = (request: { params: { id: string } }) =>
  numberFrom(request.params.id, 'endpoint_not_found')

export function endpoints(app: ApiApp, deps: ApiDeps): void {
  const { pool, checkEndpoint, vault } = deps
  const add = accountRoutes(app, 'Notifications')

  add('GET', '/api/endpoints', 'listEndpoints', {
    summary: 'The event endpoints of the account, oldest first',
    response: { 200: jsonResponse('The endpoints', z.object({ endpoints: z.array(endpointSchema) })) },
    handler: async (account) => ({ endpoints: await listEndpoints(pool, account) }),
  })

  add('POST', '/api/endpoints', 'createEndpoint', {
    summary: 'Add an event endpoint; its secret is shown only once',
    description:
      'Events are sent by POST, signed as Standard Webhooks (https://www.standardwebhooks.com). `slack` sends `{"text": ...}` with the same headers.',
    body: newEndpointSchema,
    mayUse: requireEndpoints,
    refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_limit', 'secrets_unavailable'],
    response: { 201: jsonResponse('The endpoint', z.object({ endpoint: createdSchema })) },
    handler: async (account, { body }, reply) => {
      await checkEndpoint(body.url)
      const endpoint = await createEndpoint(pool, vault, account, body).catch((cause) => {
        throw cause instanceof MasterKeyError ? new AppError('secrets_unavailable', { cause }) : cause
      })
      return reply.code(201).send({ endpoint })
    },
  })

  add('PUT', '/api/endpoints/:id', 'updateEndpoint', {
    summary: 'Change the URL or events of an endpoint, or switch it on or off',
    ...{ params, body: endpointChangeSchema },
    refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_not_found'],
    response: { 200: oneEndpoint },
    handler: async (account, request) => {
      const { url, is_active } = request.body
      if (is_active === true) requireEndpoints(callerOf(request).plan)
      const id = endpointOf(request)
      if (url !== undefined) await checkEndpoint(url)
      return { endpoint: await updateEndpoint(pool, account, id, request.body) }
    },
  })

  add('DELETE', '/api/endpoints/:id', 'deleteEndpoint', {
    summary: 'Remove an endpoint and its deliveries',
    ...{ params, refuses: ['endpoint_not_found'] },
    response: { 200: jsonResponse('What was removed', z.object({ deleted: deletedSchema })) },
    handler: async (account, request) => ({
      deleted: await deleteEndpoint(pool, account, endpointOf(request)),
    }),
  })

  add('GET', '/api/endpoints/:id/deliveries', 'listDeliveries', {
    summary: 'The deliveries to an endpoint of the last 30 days, newest first',
    ...{ params, query: pageQuery, refuses: ['endpoint_not_found'] },
    response: { 200: jsonResponse('The deliveries', deliveriesSchema) },
    handler: (account, request) => listDeliveries(pool, account, endpointOf(request), request.query),
  })

  add('POST', '/api/endpoints/:id/test', 'testEndpoint', {
    summary: 'Send an `endpoint.test` event, once; also to an endpoint that is switched off',
    ...{ params, mayUse: requireEndpoints },
    refuses: ['plan_without_endpoints', 'endpoint_not_found', 'delivery_rate'],
    response: { 202: oneDelivery },
    handler: async (account, request, reply) =>
      reply.code(202).send({ delivery: await testEndpoint(pool, account, endpointOf(request)) }),
  })

  add('POST', '/api/deliveries/:id/replay', 'replayDelivery', {
    summary: 'Send the event of a delivery once more, with the same `webhook-id`',
    ...{ params, mayUse: requireEndpoints },
    refuses: ['plan_without_endpoints', 'delivery_not_found', 'delivery_waiting', 'delivery_rate'],
    response: { 202: oneDelivery },
    handler: async (account, request, reply) => {
      const id = numberFrom(request.params.id, 'delivery_not_found')
      return reply.code(202).send({ delivery: await replayDelivery(pool, account, id) })
    },
  })
}
