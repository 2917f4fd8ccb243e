import { z } from 'zod'
import { AppError, publicError } from '../../errors.ts'
import { answer } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'

/** Whether this process lives. Says nothing about what it needs: that is `/readyz`. */
export function healthz(app: ApiApp): void {
  app.route({
    method: 'GET',
    url: '/healthz',
    config: { access: 'open' },
    schema: {
      operationId: 'healthz',
      tags: ['Node'],
      summary: 'Whether the process lives',
      response: { 200: answer('It does', z.object({ status: z.literal('ok') })) },
    },
    handler: async () => ({ status: 'ok' as const }),
  })
}

const readinessSchema = z.object({
  ready: z.boolean(),
  state: z.enum(['serving', 'draining']).describe('`draining`: it has been asked to end'),
  database: z.enum(['ok', 'unreachable']),
  browser: z.enum(['ok', 'broken', 'none']).describe('`none`: this node does not render'),
})

/** What a node says of itself: `ready` when it can do all that its roles ask of it, and is not about to end. */
export type Readiness = z.infer<typeof readinessSchema>

export type CheckReadiness = () => Promise<Readiness>

/** `GET /readyz`, for load balancers: 200 or 503, and why. No part of the contract with customers. */
export function readiness(app: ApiApp, deps: { checkReadiness: CheckReadiness }): void {
  app.route({
    method: 'GET',
    url: '/readyz',
    config: { access: 'open' },
    schema: {
      operationId: 'readyz',
      tags: ['Node'],
      summary: 'Whether the node can serve now',
      response: {
        200: answer('It can', readinessSchema),
        503: answer('It cannot, and why', readinessSchema.extend({ error: z.string() })),
      },
    },
    handler: async (_request, reply) => {
      const found = await deps.checkReadiness()
      if (found.ready) return found
      const { status, body } = publicError(new AppError('not_ready'))
      reply.code(status as 503)
      return { ...found, error: body.error }
    },
  })
}

/** All figures of this node, as Prometheus reads them. */
export type ReadMetrics = () => Promise<{ body: string; type: string }>

/** `GET /metrics`, for the operator. No part of the contract with customers. */
export function metrics(app: ApiApp, deps: { readMetrics?: ReadMetrics }): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    config: { access: 'scrape' },
    schema: { hide: true },
    handler: async (_request, reply) => {
      if (deps.readMetrics === undefined) throw new AppError('not_found')
      const { body, type } = await deps.readMetrics()
      return reply.type(type).send(body)
    },
  })
}
