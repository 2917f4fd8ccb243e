import { AppError } from '../../errors.ts'
import type { ApiApp } from '../app.ts'

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
