import { z } from 'zod'

import { answer } from '../answer.ts'
import type { ApiApp } from '../app.ts'

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
