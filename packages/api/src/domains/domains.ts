import {
  createDomainAnswer,
  createDomainBody,
  deleteDomainAnswer,
  domainForClientsSchema,
  domainParams,
  getDomainAnswer,
  listDomainsAnswer,
  updateDomainAnswer,
  updateDomainBody,
  updateDomainQuery,
} from '@prepaint/contract/api/domain.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { ownRobotsText } from '@prepaint/pages/site-files/robots-files.ts'
import {
  checkSiteLimit,
  createDomain,
  deleteDomain,
  updateWithNotes,
} from '@prepaint/service/sites/domain-changes.ts'
import { findDomain, listDomains } from '@prepaint/service/sites/domains.ts'
import { z } from 'zod'
import { authorOf, callerOf, changerOf, isClient } from '../http/access.ts'
import type { ApiApp, ApiOptions, ApiParts, CheckOrigin } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainNameFrom, domainNameWithin, ownedDomain } from '../http/routes.ts'
import { refuseSelectors } from './refuse-selectors.ts'

export function domains(app: ApiApp, parts: ApiParts, options: ApiOptions): void {
  const { caughtUp, checkOrigin, clock, pool, proofs, selectors, vault } = parts
  const { domainProof, plans } = options
  const add = accountRoutes(app, 'Domains')
  const view = () => ({ plans, nowMs: clock.nowMs() })

  add('GET', '/api/domains', 'listDomains', {
    summary: 'All domains of the account, by name',
    response: { 200: jsonResponse('The domains', listDomainsAnswer) },
    handler: async (scope, request) => {
      const domains = await listDomains(pool, scope, view())
      return { domains: isClient(request) ? z.array(domainForClientsSchema).parse(domains) : domains }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/domains',
    config: {
      access: 'key',
      action: 'createDomain',
      refuses: [
        'site_limit',
        'missing_domain_fields',
        'invalid_custom_domain',
        'invalid_origin',
        'domain_exists',
      ],
    },
    schema: {
      operationId: 'createDomain',
      tags: ['Domains'],
      summary: 'Register a domain',
      description:
        'Checked in this order: key, plan, site limit, required fields, domain name, origin, already registered.',
      body: createDomainBody,
      response: { 201: jsonResponse('The new domain', createDomainAnswer) },
    },
    // Check before reading the body.
    onRequest: async (request) => checkSiteLimit(pool, plans, callerOf(request).account),
    attachValidation: true,
    handler: async (request, reply) => {
      const missing = missingFields(request.body)
      if (missing.length > 0) {
        const problems = missing.map((field) => ({ path: [field], message: 'is required' }))
        throw new AppError('missing_domain_fields', { problems })
      }
      if (request.validationError !== undefined) throw request.validationError

      const name = parseDomainName(request.body.custom_domain)
      if (!name.ok) {
        const problems = [{ path: ['custom_domain'], message: name.reason }]
        throw new AppError('invalid_custom_domain', { word: name.reason, problems })
      }
      const originUrl = await checkedOrigin(checkOrigin, request.body.origin_url)

      const { account } = callerOf(request)
      const input = { name: name.name, originUrl, proof: domainProof }
      const domain = await createDomain(pool, account, input, view(), changerOf(request))
      await proofs.settle({ id: domain.id, account, name: name.name })
      await caughtUp()
      reply.code(201)
      return { domain }
    },
  })

  add('GET', '/api/domains/:domain', 'getDomain', {
    summary: 'One domain, with its settings and the text of its robots.txt',
    params: domainParams,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('The domain', getDomainAnswer) },
    handler: async (scope, request) => {
      const domain = await findDomain(pool, scope, domainNameFrom(request.params.domain), view())
      if (domain === null) throw new AppError('domain_not_found')
      if (isClient(request)) return { domain: domainForClientsSchema.parse(domain) }
      const { mode } = domain.settings.robots
      const text = await ownRobotsText(pool, domain.id)
      const robots = mode === 'origin' && text === '' ? { mode } : { mode, text }
      return { domain: { ...domain, settings: { ...domain.settings, robots } } }
    },
  })

  add('PUT', '/api/domains/:domain', 'updateDomain', {
    summary: 'Change the origin, state or settings of a domain',
    heaviness: ({ body: { settings } }) => (isAboutAllPages(settings) ? 'change' : null),
    params: domainParams,
    query: updateDomainQuery,
    body: updateDomainBody,
    refuses: ['invalid_origin', 'domain_not_found', 'secrets_unavailable'],
    response: { 200: jsonResponse('The domain after the change', updateDomainAnswer) },
    handler: async (scope, request) => {
      const { origin_url: rawOrigin, is_active: isActive, settings } = request.body
      if (rawOrigin === undefined && isActive === undefined && settings === undefined) {
        throw new AppError('invalid_field', {
          word: 'origin_url, is_active or settings is required',
          problems: [{ path: [], message: 'must have origin_url, is_active or settings' }],
        })
      }
      await refuseSelectors(selectors, scope.account, settings?.rules ?? [], ['settings', 'rules'])
      // Check ownership before any other work.
      const domain = await ownedDomain(pool, scope, request.params.domain)
      const originUrl = rawOrigin === undefined ? undefined : await checkedOrigin(checkOrigin, rawOrigin)
      const author = authorOf(request)
      const refreshes = request.query.refresh === 'true'
      const by = changerOf(request)
      const change = { originUrl, isActive, settings, vault, author, by, refreshes }
      const changed = await updateWithNotes(pool, scope.account, domain.name, change, view())
      await caughtUp()
      return changed
    },
  })

  add('DELETE', '/api/domains/:domain', 'deleteDomain', {
    summary: 'Remove a domain with its stored pages, jobs and webhook tokens',
    heaviness: 'change',
    params: domainParams,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('What was removed', deleteDomainAnswer) },
    handler: async (scope, request) => {
      const name = await domainNameWithin(pool, scope, request.params.domain)
      const deleted = await deleteDomain(pool, scope.account, name, changerOf(request))
      await caughtUp()
      return { deleted }
    },
  })
}

/** Rules are compared with those by which each stored page was rendered; pages for phones may be deleted. */
function isAboutAllPages(settings: { rules?: unknown; devices?: unknown } | undefined): boolean {
  return settings?.rules !== undefined || settings?.devices !== undefined
}

function missingFields(body: unknown): string[] {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  return ['custom_domain', 'origin_url'].filter((field) => (fields[field] ?? '') === '')
}

async function checkedOrigin(check: CheckOrigin, raw: string): Promise<string> {
  const origin = await check(raw)
  if (origin.ok) return origin.originUrl
  const problems = [{ path: ['origin_url'], message: origin.reason }]
  throw new AppError('invalid_origin', { word: origin.reason, problems })
}
