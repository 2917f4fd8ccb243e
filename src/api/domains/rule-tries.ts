import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { parseJobId } from '../../ids.ts'
import { mostAskedPaths } from '../../insight/traffic/read-summaries.ts'
import {
  findTry,
  findTryPicture,
  requestTry,
  TRIED_AT_ONCE,
  TRY_SIDES,
} from '../../queue/tries/rule-tries.ts'
import { DIFFERENCES } from '../../queue/tries/try-rules.ts'
import { checkedRules, RULE_CATEGORIES } from '../../rules/schema.ts'
import { PAGE_VARIANTS } from '../../store/page-id.ts'
import { callerOf } from '../http/access.ts'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse, pictureResponse } from '../http/responses.ts'
import { CUSTOMER_CONTENT_POLICY } from '../pages/inspection.ts'
import { pagePathsOf } from '../pages/page-choice.ts'
import { domainNameFrom, domainParams, ownedDomain } from './domain-schema.ts'

const bodySchema = z.object({
  rules: checkedRules.describe('As in `settings.rules`, whole'),
  paths: z
    .array(z.string().startsWith('/', 'must start with /'))
    .min(1)
    .max(TRIED_AT_ONCE)
    .optional()
    .describe(
      'Default: those that crawlers asked for most in the last week, after one of each new rule that applies to none of them',
    ),
  category: z
    .enum(RULE_CATEGORIES)
    .optional()
    .describe('As a crawler of this category. Default for each page: one whose rule changes, else `search`'),
  variant: z
    .enum(PAGE_VARIANTS)
    .optional()
    .describe('As this device. Default for each page: one whose rule changes, else `desktop`'),
})

const ruleIndex = z.int().nullable().describe('The rule that applies, counting from 0; null: none')

export const ruleTrySchema = z.object({
  state: z.enum(['queued', 'running', 'done']),
  pages: z.array(
    z.object({
      path: z.string().describe('As it is stored'),
      category: z.string().describe('Of the crawler as which it is tried'),
      variant: z.enum(PAGE_VARIANTS).describe('The device as which it is tried'),
      is_served: z
        .boolean()
        .describe('`false`: phones get the desktop page of this path (`settings.devices`)'),
      rule_before: ruleIndex,
      rule_after: ruleIndex,
      outcome: z
        .string()
        .nullable()
        .describe(
          'Under the new rules: an outcome of renders (`no-store`: given, not kept), or `pass`, `not-found`, `gone`; null: not there yet',
        ),
      ms: z.int().nullable().describe('Of the render under the new rules; null: none'),
      pictures: z
        .array(z.enum(TRY_SIDES))
        .describe('Those that can be read; of the last try of a domain only'),
      differences: z
        .array(
          z.object({
            of: z.enum(DIFFERENCES),
            before: z.string().describe('At most 20,000 characters, a line for each thing'),
            after: z.string(),
          }),
        )
        .describe('Empty: crawlers get the same'),
    }),
  ),
})

export function ruleTries(app: ApiApp, { clock, pool }: ApiDeps): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/rules/try',
    config: { access: 'key', refuses: ['domain_not_found', 'rule_try_limit', 'queue_full'] },
    schema: {
      operationId: 'tryRules',
      tags: ['Domains'],
      summary: 'Render pages under other rules, without saving them',
      description:
        'Renders each page under the present and under the given rules, at priority `refresh`, and compares what a crawler gets. Nothing is stored or counted. At most 200 pages a domain and day.',
      params: domainParams,
      body: bodySchema,
      response: { 202: jsonResponse('Its id', z.object({ id: z.string() })) },
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      const domain = await ownedDomain(pool, account, request.params.domain)
      const { paths: given, ...wanted } = request.body
      const paths = given === undefined ? null : pagePathsOf(domain, given)
      const id = await requestTry(pool, domain, { ...wanted, paths }, (db, count) =>
        mostAskedPaths(db, { account, domain: domain.id }, clock.nowMs(), count),
      )
      return reply.code(202).send({ id })
    },
  })

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/rules/try/:tryId',
    config: { access: 'key', refuses: ['domain_not_found', 'rule_try_not_found'] },
    schema: {
      operationId: 'getRuleTry',
      tags: ['Domains'],
      summary: 'What the tried rules change; kept for a day',
      params: domainParams.extend({ tryId: z.string() }),
      response: { 200: jsonResponse('The pages', ruleTrySchema) },
    },
    handler: async (request) => {
      const id = parseJobId(request.params.tryId)
      const domain = domainNameFrom(request.params.domain)
      const found = id === null ? null : await findTry(pool, callerOf(request).account, domain, id)
      if (found === null) throw new AppError('rule_try_not_found')
      return found
    },
  })

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/rules/try/:tryId/:place/:side',
    config: { access: 'key', refuses: ['invalid_field', 'domain_not_found', 'rule_try_not_found'] },
    schema: {
      operationId: 'getRuleTryPicture',
      tags: ['Domains'],
      summary: 'What a page looks like under the present or the tried rules',
      params: domainParams.extend({
        tryId: z.string(),
        place: z.coerce.number().int().min(0).max(TRIED_AT_ONCE).describe('In `pages`, counting from 0'),
        side: z.enum(TRY_SIDES),
      }),
      response: { 200: pictureResponse('The screenshot') },
    },
    handler: async (request, reply) => {
      const { domain, tryId, place, side } = request.params
      const id = parseJobId(tryId)
      const { account } = callerOf(request)
      const found =
        id === null ? null : await findTryPicture(pool, account, domainNameFrom(domain), { id, place, side })
      if (found === null) throw new AppError('rule_try_not_found')
      return reply.header('Content-Security-Policy', CUSTOMER_CONTENT_POLICY).type('image/webp').send(found)
    },
  })
}
