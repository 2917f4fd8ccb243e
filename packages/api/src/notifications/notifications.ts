import {
  channelsSchema,
  confirmAddressAnswer,
  confirmAddressBody,
  createEndpointAnswer,
  deleteEndpointAnswer,
  deliveriesSchema,
  deliverySchema,
  endpointChangeSchema,
  endpointParams,
  getReportAnswer,
  getReportQuery,
  incidentForClientsSchema,
  incidentParams,
  incidentQuery,
  incidentsSchema,
  listEndpointsAnswer,
  NO_WEEK,
  newEndpointSchema,
  putNotificationsBody,
  updateEndpointAnswer,
  updateIncidentAnswer,
  updateIncidentBody,
} from '@prepaint/contract/api/notifications.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import { pageQuery } from '@prepaint/contract/notifications/lists.ts'
import { MasterKeyError } from '@prepaint/service/certificates/vault/master-key.ts'
import { confirm, listAddresses, setAddresses } from '@prepaint/service/notifications/delivery/addresses.ts'
import {
  listDeliveries,
  replayDelivery,
  testEndpoint,
} from '@prepaint/service/notifications/delivery/deliveries.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  requireEndpoints,
  updateEndpoint,
} from '@prepaint/service/notifications/delivery/endpoints.ts'
import { readReport } from '@prepaint/service/notifications/delivery/report.ts'
import { acknowledgeIncident, listIncidents } from '@prepaint/service/notifications/incidents/incidents.ts'
import { z } from 'zod'
import { actorNameOf, callerOf, changerOf, isClient } from '../http/access.ts'
import { type ApiApp, type ApiParts, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, ownedDomain } from '../http/routes.ts'

const addresses = { 200: jsonResponse('The addresses', channelsSchema) }
const oneDelivery = { 202: jsonResponse('The delivery', z.object({ delivery: deliverySchema })) }

const endpointOf = (request: { params: { id: string } }) =>
  numberFrom(request.params.id, 'endpoint_not_found')

export function notifications(app: ApiApp, { mailer, pool, vault }: ApiParts): void {
  const add = accountRoutes(app, 'Notifications')
  const by_mail = mailer !== null

  add('GET', '/api/incidents', 'listIncidents', {
    summary: 'Incidents of the account of the last 400 days: open first, newest first',
    query: incidentQuery,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('The incidents', incidentsSchema) },
    handler: async (scope, request) => {
      const { domain: name, ...query } = request.query
      const domains = name === undefined ? scope.domains : [(await ownedDomain(pool, scope, name)).id]
      const { incidents, next } = await listIncidents(pool, { account: scope.account, domains }, query)
      const shown = isClient(request) ? z.array(incidentForClientsSchema).parse(incidents) : incidents
      return { incidents: shown, next }
    },
  })

  add('PUT', '/api/incidents/:id', 'updateIncident', {
    summary: 'Say that you take care of an incident, or that you no longer do',
    description:
      'Members see who takes care of it, and no reminders are sent any more. It does not end the incident.',
    params: incidentParams,
    body: updateIncidentBody,
    refuses: ['incident_not_found'],
    response: { 200: jsonResponse('The incident', updateIncidentAnswer) },
    handler: async (scope, request) => {
      const { acknowledged, note = null } = request.body
      const id = numberFrom(request.params.id, 'incident_not_found')
      const by = acknowledged ? { by: actorNameOf(request), note: note?.trim() || null } : null
      const incident = await acknowledgeIncident(pool, scope, id, by, changerOf(request))
      if (incident === null) throw new AppError('incident_not_found')
      return { incident }
    },
  })

  add('GET', '/api/notifications', 'getNotifications', {
    summary: 'Who is told by e-mail, and of what',
    response: addresses,
    handler: async (scope) => ({ emails: await listAddresses(pool, scope), by_mail }),
  })

  add('PUT', '/api/notifications', 'putNotifications', {
    summary: 'Replace the list of addresses; new ones get a link to confirm',
    description:
      'At most 3 links for each address and 20 for each account are sent in 24 hours. Unsubscribed addresses get a link again.',
    body: putNotificationsBody,
    refuses: ['domain_not_found'],
    response: addresses,
    handler: async ({ account }, request) => {
      const { emails } = request.body
      return { emails: await setAddresses(pool, account, emails, changerOf(request)), by_mail }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/notifications/confirm',
    config: { access: 'open', refuses: ['link_not_found', 'database_unavailable'] },
    schema: {
      operationId: 'confirmAddress',
      tags: ['Notifications'],
      summary: 'Confirm an address with the link of the e-mail',
      body: confirmAddressBody,
      response: { 200: jsonResponse('The address', confirmAddressAnswer) },
    },
    handler: async (request) => {
      const email = await confirm(pool, vault, request.body.token)
      if (email === null) throw new AppError('link_not_found')
      return { email }
    },
  })

  add('GET', '/api/report', 'getReport', {
    summary: 'The report of one week',
    query: getReportQuery,
    response: { 200: jsonResponse('The report', getReportAnswer) },
    handler: async (scope, { query }) => {
      const report = await readReport(pool, scope, query.week ?? null)
      if (report === null) throw invalidField(['week'], NO_WEEK)
      return { report }
    },
  })
}

export function endpoints(app: ApiApp, { pool, checkEndpoint, vault }: ApiParts): void {
  const add = accountRoutes(app, 'Notifications')

  add('GET', '/api/endpoints', 'listEndpoints', {
    summary: 'The event endpoints of the account, oldest first',
    response: { 200: jsonResponse('The endpoints', listEndpointsAnswer) },
    handler: async ({ account }) => ({ endpoints: await listEndpoints(pool, account) }),
  })

  add('POST', '/api/endpoints', 'createEndpoint', {
    summary: 'Add an event endpoint; its secret is shown only once',
    description:
      'Events are sent by POST, signed as Standard Webhooks (https://www.standardwebhooks.com). `slack` sends `{"text": ...}` with the same headers.',
    body: newEndpointSchema,
    mayUse: requireEndpoints,
    refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_limit', 'secrets_unavailable'],
    response: { 201: jsonResponse('The endpoint', createEndpointAnswer) },
    handler: async ({ account }, request, reply) => {
      const { body } = request
      await checkEndpoint(body.url)
      const making = createEndpoint(pool, vault, account, body, changerOf(request))
      const endpoint = await making.catch((cause) => {
        throw cause instanceof MasterKeyError ? new AppError('secrets_unavailable', { cause }) : cause
      })
      return reply.code(201).send({ endpoint })
    },
  })

  add('PUT', '/api/endpoints/:id', 'updateEndpoint', {
    summary: 'Change the URL or events of an endpoint, or switch it on or off',
    params: endpointParams,
    body: endpointChangeSchema,
    refuses: ['plan_without_endpoints', 'invalid_endpoint', 'endpoint_not_found'],
    response: { 200: jsonResponse('The endpoint', updateEndpointAnswer) },
    handler: async ({ account }, request) => {
      const { url, is_active } = request.body
      if (is_active === true) requireEndpoints(callerOf(request).plan)
      const id = endpointOf(request)
      if (url !== undefined) await checkEndpoint(url)
      return { endpoint: await updateEndpoint(pool, account, id, request.body, changerOf(request)) }
    },
  })

  add('DELETE', '/api/endpoints/:id', 'deleteEndpoint', {
    summary: 'Remove an endpoint and its deliveries',
    params: endpointParams,
    refuses: ['endpoint_not_found'],
    response: {
      200: jsonResponse('What was removed', deleteEndpointAnswer),
    },
    handler: async ({ account }, request) => ({
      deleted: await deleteEndpoint(pool, account, endpointOf(request), changerOf(request)),
    }),
  })

  add('GET', '/api/endpoints/:id/deliveries', 'listDeliveries', {
    summary: 'The deliveries to an endpoint of the last 30 days, newest first',
    params: endpointParams,
    query: pageQuery,
    refuses: ['endpoint_not_found'],
    response: { 200: jsonResponse('The deliveries', deliveriesSchema) },
    handler: ({ account }, request) => listDeliveries(pool, account, endpointOf(request), request.query),
  })

  add('POST', '/api/endpoints/:id/test', 'testEndpoint', {
    summary: 'Send an `endpoint.test` event, once; also to an endpoint that is switched off',
    params: endpointParams,
    mayUse: requireEndpoints,
    refuses: ['plan_without_endpoints', 'endpoint_not_found', 'delivery_rate'],
    response: oneDelivery,
    handler: async ({ account }, request, reply) =>
      reply.code(202).send({ delivery: await testEndpoint(pool, account, endpointOf(request)) }),
  })

  add('POST', '/api/deliveries/:id/replay', 'replayDelivery', {
    summary: 'Send the event of a delivery once more, with the same `webhook-id`',
    params: endpointParams,
    mayUse: requireEndpoints,
    refuses: ['plan_without_endpoints', 'delivery_not_found', 'delivery_waiting', 'delivery_rate'],
    response: oneDelivery,
    handler: async ({ account }, request, reply) => {
      const id = numberFrom(request.params.id, 'delivery_not_found')
      return reply.code(202).send({ delivery: await replayDelivery(pool, account, id) })
    },
  })
}
