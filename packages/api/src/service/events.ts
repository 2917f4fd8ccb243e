import type { Subscriber } from '@prepaint/service/insight/events/streams.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { callerOf, sessionOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import type { ResponseContent } from '../http/responses.ts'

export type Subscribe = (subscriber: Subscriber, begin: () => FastifyReply['raw'], resumed: boolean) => void

const STREAM: ResponseContent<z.ZodString, 'text/event-stream'> = {
  description: 'Events until `end`, or until the connection is lost',
  content: { 'text/event-stream': { schema: z.string() } },
}

const DESCRIPTION = `Server-sent events with JSON data, without the content of pages.

- \`render\`: a job ended: \`domain\`, \`path\`, \`priority\`, \`state\`, \`outcome\`
- \`pages\`: stored or purged: \`domain\`, \`path\` (null: several pages)
- \`warm\`: \`domain\`, \`queued\`, \`running\`, \`warming\` (a full warm queues more)
- \`visits\`: visits were counted, a few seconds after they happened: \`domain\`
- \`quota\`: \`domain\`, \`renders_used\`, \`monthly_render_limit\`
- \`domain\`: added or changed, or its certificate changed: \`domain\`, \`is_active\`, \`certificate_ends_at\`
- \`incident\`: opened, changed or resolved: \`id\`, \`domain\`, \`kind\`, \`state\`
- \`account\`: the plan changed, or a domain was deleted
- \`hello\`: the stream is open. \`reread\`: events may have been lost; read your data again
- \`end\`: the last event; \`reason\` is \`access\` (signed out, revoked, expired) or \`node\` (reconnect)

With \`Last-Event-ID\` the first event is \`reread\`: past events are not stored. A comment line is sent every 15 seconds.
Clients that leave 512 KiB unread are disconnected. Limit: 20 streams per account and node.`

export function events(app: ApiApp, { subscribe }: ApiParts): void {
  app.route({
    method: 'GET',
    url: '/api/events',
    config: {
      access: 'key',
      action: 'followEvents',
      refuses: ['too_many_streams', 'too_many_link_streams', 'events_unavailable'],
    },
    exposeHeadRoute: false,
    schema: {
      operationId: 'followEvents',
      tags: ['Events'],
      summary: 'Live updates of the domains of the account',
      description: DESCRIPTION,
      response: { 200: STREAM },
    },
    handler: (request, reply) => follow(request, reply, false),
  })

  app.route({
    method: 'GET',
    url: '/api/operator/events',
    config: { access: 'operator', refuses: ['too_many_streams', 'events_unavailable'] },
    exposeHeadRoute: false,
    schema: {
      operationId: 'followFleetEvents',
      tags: ['Operator'],
      summary: 'As `/api/events`, with the number of ended jobs of all accounts (`fleet`: `jobs_ended`)',
      response: { 200: STREAM },
    },
    handler: (request, reply) => follow(request, reply, true),
  })

  function follow(request: FastifyRequest, reply: FastifyReply, fleet: boolean): void {
    const begin = () => {
      const { raw } = reply.hijack()
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) raw.setHeader(name, value)
      }
      raw.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
      // Otherwise nginx and similar proxies buffer the events.
      raw.setHeader('X-Accel-Buffering', 'no')
      return raw
    }
    subscribe(subscriberOf(request, fleet), begin, request.headers['last-event-id'] !== undefined)
  }
}

function subscriberOf(request: FastifyRequest, fleet: boolean): Subscriber {
  if (!fleet && request.session === null) {
    const { scope, keyId, share } = callerOf(request)
    if (share !== null) {
      const by = { share: share.shareId, parts: share.parts, endsAtMs: share.expiresAt.getTime() }
      return { ...scope, by, fleet, person: null }
    }
    return { ...scope, by: { key: keyId! }, fleet, person: null }
  }
  const { id, person, entry } = sessionOf(request)
  // Operators may be in no account.
  const member = typeof entry === 'string' ? null : entry
  return {
    account: member?.account ?? null,
    domains: member?.domains ?? null,
    by: { session: id, role: member?.role ?? null },
    fleet,
    person,
  }
}
