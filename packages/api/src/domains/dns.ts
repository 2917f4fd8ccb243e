import { checkDomainBody, dnsStateSchema, domainCheckSchema } from '@prepaint/contract/api/dns.ts'
import { domainParams } from '@prepaint/contract/api/domain.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { isTaken } from '@prepaint/service/sites/domains.ts'
import type { Checks } from '@prepaint/service/sites/reachability/checks.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainNameFrom } from '../http/routes.ts'

export function dns(app: ApiApp, parts: ApiParts, { edgeTarget: target }: ApiOptions): void {
  const { checkOrigin, checks, edgePort, pool } = parts
  const add = accountRoutes(app, 'Domains')

  add('GET', '/api/domains/:domain/dns', 'getDns', {
    summary: 'Where the DNS records of a domain point now',
    description:
      'Checked with a request, as a visitor would make it. Cached for one minute, or for 10 seconds if the name does not point here. Limit: 60 checks per account and minute.',
    params: domainParams,
    refuses: ['domain_not_found', 'too_many_checks', 'not_ready'],
    response: { 200: jsonResponse('The DNS state', dnsStateSchema) },
    handler: async (account, request) => {
      const domain = domainNameFrom(request.params.domain)
      const found = await checks.dns(account, domain)
      if (found === null) throw new AppError('domain_not_found')
      return { domain, ...found, target, edge_port: edgePort() }
    },
  })

  add('POST', '/api/domains/check', 'checkDomain', {
    summary: 'Check the name and the origin of a new domain without registering it',
    body: checkDomainBody,
    refuses: ['too_many_checks', 'not_ready'],
    response: { 200: jsonResponse('The result for each field of the request', domainCheckSchema) },
    handler: async (account, request) => {
      const { custom_domain: name, origin_url: origin } = request.body
      await checks.count(account)
      return {
        custom_domain: name === undefined ? null : await checkedName(name),
        origin_url: origin === undefined ? null : await checkedOrigin(account, origin),
        target,
      }
    },
  })

  async function checkedName(raw: string) {
    const parsed = parseDomainName(raw)
    if (!parsed.ok) return { name: null, problem: parsed.reason }
    // Registering the name would reveal the same.
    const problem = (await isTaken(pool, parsed.name)) ? 'is already registered' : null
    return { name: parsed.name, problem }
  }

  async function checkedOrigin(account: Parameters<Checks['origin']>[0], raw: string) {
    const checked = await checkOrigin(raw)
    if (!checked.ok) return { url: null, problem: checked.reason, status: null, warning: null }
    const { status, problem } = await checks.origin(account, checked.originUrl)
    return { url: checked.originUrl, problem: null, status, warning: problem }
  }
}
