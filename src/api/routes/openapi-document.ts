import type { ApiApp } from '../app.ts'

/** The OpenAPI document of all routes. It needs no key: it holds nothing that the source does not. */
export function openApiDocument(app: ApiApp): void {
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) => reply.type('application/json; charset=utf-8').send(app.swagger()),
  })
}
