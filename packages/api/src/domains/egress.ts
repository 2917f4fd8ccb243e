import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export const egressSchema = z.object({
  user_agent: z
    .string()
    .describe('Part of the user agent of every request of renders, unless the owner set another'),
  addresses: z
    .array(z.string())
    .describe(
      'Addresses and CIDR ranges from which origins are reached; empty: the operator has not named them',
    ),
})

export function egress(app: ApiApp, { egressAddresses = [], version }: ApiDeps): void {
  const add = accountRoutes(app, 'Domains')
  add('GET', '/api/egress', 'getEgress', {
    summary: 'How a firewall in front of an origin recognises Prepaint',
    response: { 200: jsonResponse('User agent and addresses', egressSchema) },
    handler: async () => ({ user_agent: `Prepaint/${version}`, addresses: [...egressAddresses] }),
  })
}
