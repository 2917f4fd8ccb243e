import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import type { Subscriber } from '../../insight/events/streams.ts'
import { callerOf } from '../http/access.ts'
import { type Answer, KEY_REFUSALS, OPERATOR_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'

/** Opens a stream of events; `src/insight/events/events.ts` is one. */
export type Subscribe = (subscriber: Subscriber, begin: () => FastifyReply['raw'], resumed: boolean) => void

const STREAM: Answer<z.ZodString, 'text/event-stream'> = {
  description: 'Events until one of them is `end`, or the connection is lost',
  content: { 'text/event-stream': { schema: z.string() } },
}

const DESCRIPTION = `Server-sent events. The data of each is JSON; none carries what a page holds.

- \`render\`: a job has ended: \`domain\`, \`path\`, \`priority\`, \`state\`, \`outcome\`
- \`pages\`: stored or purged: \`domain\`, \`path\` (null: more than one)
- \`warm\`: \`domain\`, \`queued\`, \`running\`, \`warming\` (a full warm will queue more)
- \`visits\`: were counted, some seconds after they came: \`domain\`
- \`quota\`: \`domain\`, \`renders_used\`, \`monthly_render_limit\`
- \`domain\`: added or changed, or another certificate: \`domain\`, \`is_active\`, \`certificate_ends_at\`
- \`account\`: another plan, or a domain was deleted
- \`hello\`: the stream stands. \`reread\`: something may have been missed, read again what you hold
- \`end\`: the last one; \`reason\` is \`access\` (signed out, revoked, expired) or \`node\` (come again)

With \`Last-Event-ID\` the first event is \`reread\`: nothing is kept for those who were away. A line without an event comes
every 15 seconds. Whoever leaves 512 KiB unread is cut off. An account may have 20 streams at a node.`

export function events(app: ApiApp, deps: { subscribe?: Subscribe }): void {
  app.route({
    method: 'GET',
    url: '/api/events',
    config: { access: 'key' },
    exposeHeadRoute: false,
    schema: {
      operationId: 'followEvents',
      tags: ['Events'],
      summary: 'What happens to the domains of the account, as it happens',
      description: DESCRIPTION,
      security: [{ ApiKey: [] }],
      response: { 200: STREAM, ...refusals(...KEY_REFUSALS, 'too_many_streams', 'events_unavailable') },
    },
    handler: (request, reply) => follow(request, reply, false),
  })

  app.route({
    method: 'GET',
    url: '/api/operator/events',
    config: { access: 'operator' },
    exposeHeadRoute: false,
    schema: {
      operationId: 'followFleetEvents',
      tags: ['Operator'],
      summary:
        'As `/api/events`, and besides how many jobs of all accounts have ended (`fleet`: `jobs_ended`)',
      security: [{ Session: [] }],
      response: { 200: STREAM, ...refusals(...OPERATOR_REFUSALS, 'too_many_streams', 'events_unavailable') },
    },
    handler: (request, reply) => follow(request, reply, true),
  })

  function follow(request: FastifyRequest, reply: FastifyReply, fleet: boolean): void {
    const { account, session, keyId } = callerOf(request)
    const by = session === null ? { key: keyId } : { session: session.id }
    const begin = () => {
      const { raw } = reply.hijack()
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) raw.setHeader(name, value)
      }
      raw.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
      // nginx, and those who learnt it from there, would keep the events together.
      raw.setHeader('X-Accel-Buffering', 'no')
      return raw
    }
    if (deps.subscribe === undefined) throw new AppError('events_unavailable')
    deps.subscribe({ account, by, fleet }, begin, request.headers['last-event-id'] !== undefined)
  }
}
