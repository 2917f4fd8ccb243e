import { AppError, publicError } from '@prepaint/contract/errors.ts'
import { z } from 'zod'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

const readinessSchema = z.object({
  ready: z.boolean(),
  state: z.enum(['serving', 'draining']).describe('`draining`: shutting down'),
  database: z.enum(['ok', 'unreachable']),
  browser: z.enum(['ok', 'broken', 'none']).describe('`none`: this node does not render'),
})

/** `ready`: all roles work and the node is not shutting down. */
export type Readiness = z.infer<typeof readinessSchema>

export type CheckReadiness = () => Promise<Readiness>

export type ReadMetrics = () => Promise<{ body: string; type: string }>

export function health(app: ApiApp, { checkReadiness, readMetrics }: ApiParts): void {
  app.route({
    method: 'GET',
    url: '/healthz',
    config: { access: 'open' },
    schema: {
      operationId: 'healthz',
      tags: ['Node'],
      summary: 'Liveness: the process runs',
      response: { 200: jsonResponse('It runs', z.object({ status: z.literal('ok') })) },
    },
    handler: async () => ({ status: 'ok' as const }),
  })

  app.route({
    method: 'GET',
    url: '/readyz',
    config: { access: 'open' },
    schema: {
      operationId: 'readyz',
      tags: ['Node'],
      summary: 'Readiness: the node can serve requests',
      response: {
        200: jsonResponse('Ready', readinessSchema),
        503: jsonResponse('Not ready, and why', readinessSchema.extend({ error: z.string() })),
      },
    },
    handler: async (_request, reply) => {
      const found = await checkReadiness()
      if (found.ready) return found
      const { status, body } = publicError(new AppError('not_ready'))
      reply.code(status as 503)
      return { ...found, error: body.error }
    },
  })

  app.route({
    method: 'GET',
    url: '/metrics',
    config: { access: 'scrape' },
    schema: { hide: true },
    handler: async (_request, reply) => {
      const { body, type } = await readMetrics()
      return reply.type(type).send(body)
    },
  })
}
