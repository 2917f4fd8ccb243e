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

const edgeReadinessSchema = z.object({
  ready: z.boolean(),
  state: z.enum(['serving', 'draining']).describe('`draining`: shutting down'),
  database: z.enum(['ok', 'unreachable']),
  domains: z
    .enum(['memory', 'snapshot', 'none'])
    .describe('Where the edge knows domains from; `none`: from nowhere, while the database is unreachable'),
})

/** `ready`: the edge can serve people, also while the database is unreachable. */
export type EdgeReadiness = z.infer<typeof edgeReadinessSchema>

export type CheckEdge = () => EdgeReadiness

/** `ready`: all roles work and the node is not shutting down. */
export type Readiness = z.infer<typeof readinessSchema>

export type CheckReadiness = () => Promise<Readiness>

export type ReadMetrics = () => Promise<{ body: string; type: string }>

export function health(app: ApiApp, { checkReadiness, checkEdge, readMetrics }: ApiParts): void {
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
      const { status, body, headers } = publicError(new AppError('not_ready'))
      reply.code(status as 503).headers(headers)
      return { ...found, error: body.error }
    },
  })

  app.route({
    method: 'GET',
    url: '/readyz/edge',
    config: { access: 'open', refuses: ['not_found'] },
    schema: {
      operationId: 'readyzEdge',
      tags: ['Node'],
      summary:
        'Readiness of the edge: it can serve people, also while PostgreSQL is away. 404 on a node without an edge',
      response: {
        200: jsonResponse('Ready', edgeReadinessSchema),
        503: jsonResponse('Not ready, and why', edgeReadinessSchema.extend({ error: z.string() })),
      },
    },
    handler: async (_request, reply) => {
      if (checkEdge === null) throw new AppError('not_found')
      const found = checkEdge()
      if (found.ready) return found
      const { status, body, headers } = publicError(new AppError('not_ready'))
      reply.code(status as 503).headers(headers)
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
