import {
  checkDnsBody,
  checkDomainBody,
  dnsStateSchema,
  domainCheckSchema,
  listDnsAnswer,
} from '@prepaint/contract/api/dns.ts'
import { domainParams } from '@prepaint/contract/api/domain.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { isTaken } from '@prepaint/service/sites/domains.ts'
import type { Checks } from '@prepaint/service/sites/reachability/checks.ts'
import { listDns, lookAtNames, watchDns } from '@prepaint/service/sites/reachability/dns-looks.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainNameWithin, ownedDomain } from '../http/routes.ts'

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
    handler: async (scope, request) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      const found = await checks.dns(scope.account, domain)
      if (found === null) throw new AppError('domain_not_found')
      return { domain, ...found, target, edge_port: edgePort() }
    },
  })

  add('GET', '/api/dns', 'listDns', {
    summary: 'Where the DNS records of all domains point, as the nodes last found them',
    description:
      'Nodes look every 10 minutes, and every 20 seconds at names to set up while this route is asked. Counts as no check.',
    response: { 200: jsonResponse('The domains, by name', listDnsAnswer) },
    handler: async (scope) => {
      await watchDns(pool, scope)
      return { domains: await listDns(pool, scope) }
    },
  })

  add('POST', '/api/dns/check', 'checkDns', {
    summary: 'Look now where the DNS records of some domains point: at most 50',
    description: 'Counts as one of the 60 checks per account and minute.',
    body: checkDnsBody,
    refuses: ['domain_not_found', 'too_many_checks', 'not_ready'],
    response: { 200: jsonResponse('The domains, by name', listDnsAnswer) },
    handler: async ({ account, domains: limited }, request) => {
      const scope = { account, domains: limited }
      const names: Parameters<typeof lookAtNames>[2][number][] = []
      for (const raw of request.body.domains) {
        const { id, name } = await ownedDomain(pool, scope, raw)
        names.push({ id, account, name })
      }
      await checks.run(account, () => lookAtNames(pool, checks.probes, names))
      return { domains: await listDns(pool, { account, domains: names.map(({ id }) => id) }) }
    },
  })

  add('POST', '/api/domains/check', 'checkDomain', {
    summary: 'Check the name and the origin of a new domain without registering it',
    body: checkDomainBody,
    refuses: ['too_many_checks', 'not_ready'],
    response: { 200: jsonResponse('The result for each field of the request', domainCheckSchema) },
    handler: async ({ account }, request) => {
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
