import type { ApiApp } from '../http/app.ts'

/** Public: contains no more than the source code. `/docs` shows it; see `dashboard.ts`. */
export function docs(app: ApiApp, readDocument: () => Promise<object>): void {
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(await readDocument()),
  })
}
