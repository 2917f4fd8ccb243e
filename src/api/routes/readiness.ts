import type { ApiApp } from '../app.ts'

/** What a node says of itself: `ready` when it can do all that its roles ask of it, and is not about to end. */
export type Readiness = {
  ready: boolean
  /** `draining`: it has been asked to end. */
  state: 'serving' | 'draining'
  database: 'ok' | 'unreachable'
  /** `none`: this node does not render. */
  browser: 'ok' | 'broken' | 'none'
}

export type CheckReadiness = () => Promise<Readiness>

/** `GET /readyz`, for load balancers: 200 or 503, and why. No part of the contract with customers. */
export function readiness(app: ApiApp, deps: { checkReadiness: CheckReadiness }): void {
  app.route({
    method: 'GET',
    url: '/readyz',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) => {
      const found = await deps.checkReadiness()
      return reply
        .status(found.ready ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(found)
    },
  })
}
