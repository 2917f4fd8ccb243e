import { egressSchema } from '@prepaint/contract/api/domain.ts'
import type { ApiApp, ApiOptions } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export function egress(app: ApiApp, { egressAddresses, version }: ApiOptions): void {
  const add = accountRoutes(app, 'Domains')
  add('GET', '/api/egress', 'getEgress', {
    summary: 'How a firewall in front of an origin recognises Prepaint',
    response: { 200: jsonResponse('User agent and addresses', egressSchema) },
    handler: async () => ({ user_agent: `Prepaint/${version}`, addresses: [...egressAddresses] }),
  })
}
