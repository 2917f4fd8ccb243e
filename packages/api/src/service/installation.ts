import { hasAnyAccount } from '@prepaint/service/accounts/accounts.ts'
import { z } from 'zod'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

/** What the dashboard shows before anybody can sign in. It tells no more than the sign-in does. */
export function installation(app: ApiApp, { accessDb }: ApiParts): void {
  app.route({
    method: 'GET',
    url: '/api/installation',
    config: { access: 'open' },
    schema: {
      hide: true,
      response: {
        200: jsonResponse('Whether there is an account', z.object({ has_account: z.boolean() })),
      },
    },
    handler: async () => ({ has_account: await hasAnyAccount(accessDb) }),
  })
}
