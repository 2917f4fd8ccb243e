import type pg from 'pg'
import { z } from 'zod'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { checkSiteLimit, createDomain, deleteDomain, updateDomain } from '../../sites/domain-changes.ts'
import { parseDomainName } from '../../sites/domain-name.ts'
import { domainSettingsPatchSchema } from '../../sites/domain-settings.ts'
import { findDomain, listDomains } from '../../sites/domains.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp, CaughtUp, CheckOrigin } from '../http/app.ts'
import {
  deletedDomainSchema,
  domainNameOf,
  domainParams,
  domainSchema,
  domainWithSettingsSchema,
  ownedDomain,
} from './domain-schema.ts'

const createSchema = z.object({
  custom_domain: z.string().describe('Name to register; IDN is turned into punycode'),
  origin_url: z.string().describe('Scheme, host and port of the site; no internal address'),
})

type CreateDeps = {
  pool: pg.Pool
  plans: PlanCatalogue
  clock: Clock
  checkOrigin: CheckOrigin
  caughtUp: CaughtUp
}

export function domainCreate(app: ApiApp, deps: CreateDeps): void {
  app.route({
    method: 'POST',
    url: '/api/domains',
    config: { access: 'key' },
    schema: {
      operationId: 'createDomain',
      tags: ['Domains'],
      summary: 'Register a domain',
      description:
        'Checked in this order: key, plan, site limit, required fields, domain name, origin, already registered.',
      security: [{ ApiKey: [] }],
      body: createSchema,
      response: {
        201: answer('The new domain', z.object({ domain: domainSchema })),
        ...refusals(
          ...KEY_REFUSALS,
          'site_limit',
          ...BODY_REFUSALS,
          'missing_domain_fields',
          'invalid_field',
          'invalid_custom_domain',
          'invalid_origin',
          'domain_exists',
        ),
      },
    },
    // The site limit comes before the body is even read.
    onRequest: async (request) => checkSiteLimit(deps.pool, deps.plans, callerOf(request).account),
    attachValidation: true,
    handler: async (request, reply) => {
      if (lacksFields(request.body)) throw new AppError('missing_domain_fields')
      if (request.validationError !== undefined) throw request.validationError

      const name = parseDomainName(request.body.custom_domain)
      if (!name.ok) throw new AppError('invalid_custom_domain', { word: name.reason })
      const origin = await deps.checkOrigin(request.body.origin_url)
      if (!origin.ok) throw new AppError('invalid_origin', { word: origin.reason })

      const { account } = callerOf(request)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      const input = { name: name.name, originUrl: origin.originUrl }
      const domain = await createDomain(deps.pool, account, input, view)
      await deps.caughtUp()
      reply.code(201)
      return { domain }
    },
  })
}

/** No body, one that is no object, or a field that is absent, null or empty. */
function lacksFields(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return true
  const fields = body as Record<string, unknown>
  return ['custom_domain', 'origin_url'].some((field) => (fields[field] ?? '') === '')
}

export function domainDelete(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'DELETE',
    url: '/api/domains/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'deleteDomain',
      tags: ['Domains'],
      summary: 'Remove a domain with its stored pages, jobs and webhook tokens',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('What was removed', z.object({ deleted: deletedDomainSchema })),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const name = domainNameOf(request.params.domain)
      const deleted = await deleteDomain(deps.pool, callerOf(request).account, name)
      await deps.caughtUp()
      return { deleted }
    },
  })
}

export function domainGet(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'getDomain',
      tags: ['Domains'],
      summary: 'One domain, with its settings',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The domain', z.object({ domain: domainWithSettingsSchema })),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { account } = callerOf(request)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      const domain = await findDomain(deps.pool, account, domainNameOf(request.params.domain), view)
      if (domain === null) throw new AppError('domain_not_found')
      return { domain }
    },
  })
}

export function domainList(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains',
    config: { access: 'key' },
    schema: {
      operationId: 'listDomains',
      tags: ['Domains'],
      summary: 'All domains of the account, by name',
      security: [{ ApiKey: [] }],
      response: {
        200: answer('The domains', z.object({ domains: z.array(domainSchema) })),
        ...refusals(...KEY_REFUSALS),
      },
    },
    handler: async (request) => {
      const { account } = callerOf(request)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      return { domains: await listDomains(deps.pool, account, view) }
    },
  })
}

const updateSchema = z
  .object({
    origin_url: z.string().optional().describe('Scheme, host and port of the site; no internal address'),
    is_active: z.boolean().optional(),
    settings: domainSettingsPatchSchema.optional().describe('Fields that are absent stay as they are'),
  })
  .describe('At least one of the fields; those that are absent stay as they are')

type UpdateDeps = {
  pool: pg.Pool
  plans: PlanCatalogue
  clock: Clock
  checkOrigin: CheckOrigin
  caughtUp: CaughtUp
}

export function domainUpdate(app: ApiApp, deps: UpdateDeps): void {
  app.route({
    method: 'PUT',
    url: '/api/domains/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'updateDomain',
      tags: ['Domains'],
      summary: 'Change origin, activity or settings of a domain',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: updateSchema,
      response: {
        200: answer('The domain after the change', z.object({ domain: domainWithSettingsSchema })),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'invalid_origin', 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { origin_url: rawOrigin, is_active: isActive, settings } = request.body
      if (rawOrigin === undefined && isActive === undefined && settings === undefined) {
        throw new AppError('invalid_field', { word: 'origin_url, is_active or settings is required' })
      }
      const { account } = callerOf(request)
      // Before the origin is looked up: for a stranger's domain nothing is done at all.
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const originUrl = rawOrigin === undefined ? undefined : await checkedOrigin(deps.checkOrigin, rawOrigin)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      const change = { originUrl, isActive, settings }
      const changed = await updateDomain(deps.pool, account, domain.name, change, view)
      await deps.caughtUp()
      return { domain: changed }
    },
  })
}

async function checkedOrigin(check: CheckOrigin, raw: string): Promise<string> {
  const origin = await check(raw)
  if (!origin.ok) throw new AppError('invalid_origin', { word: origin.reason })
  return origin.originUrl
}
