import {
  checkIntegrationAnswer,
  checkIntegrationBody,
  type IntegrationCheck,
  integrationAnswer,
  listIntegrationsAnswer,
} from '@prepaint/contract/api/fronts.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { listIntegrations, readIntegration } from '@prepaint/service/fronts/read-integration.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainRoutes } from '../http/routes.ts'

export type CheckIntegration = (
  domain: { id: DomainId; name: DomainName },
  asked: { path: string; via: string | null },
) => Promise<IntegrationCheck>

/** By which way crawlers come to a domain, and a request that shows it. */
export function frontState(
  app: ApiApp,
  { checks, checkIntegration, checkOrigin, clock, pool }: ApiParts,
): void {
  const addToAccount = accountRoutes(app, 'Fronts')
  const add = domainRoutes(app, pool, 'Fronts')

  addToAccount('GET', '/api/integrations', 'listIntegrations', {
    summary: 'By which way crawlers come to each domain of the account, by name',
    response: { 200: jsonResponse('The domains and their ways', listIntegrationsAnswer) },
    handler: async (scope) => ({ integrations: await listIntegrations(pool, scope, clock.nowMs()) }),
  })

  add('GET', 'integration', 'getIntegration', {
    summary: 'By which way crawlers come to the domain, and whether its front is refused',
    response: { 200: jsonResponse('The way and its evidence', integrationAnswer) },
    handler: (domain) => readIntegration(pool, domain, clock.nowMs()),
  })

  add('POST', 'integration/check', 'checkIntegration', {
    summary: 'Ask the site for a page as a crawler, and see how the request arrives',
    description:
      'It takes 20 seconds at most. Limit: 60 checks per account and minute, with those of DNS and origins.',
    body: checkIntegrationBody,
    refuses: ['invalid_via', 'too_many_checks'],
    response: { 200: jsonResponse('How it arrived', checkIntegrationAnswer) },
    handler: async (domain, request) => {
      const { path = '/', via: raw = null } = request.body
      const via = raw === null ? null : await checkedVia(raw)
      return { check: await checks.run(domain.account, () => checkIntegration(domain, { path, via })) }
    },
  })

  async function checkedVia(raw: string): Promise<string> {
    const checked = await checkOrigin(raw)
    if (!checked.ok) throw new AppError('invalid_via', { word: checked.reason })
    return checked.originUrl
  }
}
