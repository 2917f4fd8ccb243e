import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import { PAGE_VARIANTS } from '@prepaint/contract/page/page-id.ts'
import { checkedRules } from '@prepaint/contract/rules/schema.ts'
import {
  findTry,
  findTryPicture,
  requestTry,
  TRIED_AT_ONCE,
  TRY_SIDES,
} from '@prepaint/pages/queue/tries/rule-tries.ts'
import { DIFFERENCES } from '@prepaint/pages/queue/tries/try-rules.ts'
import { mostAskedPaths } from '@prepaint/service/insight/traffic/read-summaries.ts'
import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse, pictureResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { CUSTOMER_CONTENT_POLICY } from '../pages/inspection.ts'
import { pagePathsOf } from '../pages/page-choice.ts'

const bodySchema = z.object({
  rules: checkedRules.describe('As in `settings.rules`, whole'),
  paths: z
    .array(z.string().startsWith('/', 'must start with /'))
    .min(1)
    .max(TRIED_AT_ONCE)
    .optional()
    .describe('Default: those that crawlers asked for most in the last week'),
})

const ruleIndex = z.int().nullable().describe('The rule that applies, counting from 0; null: none')

export const ruleTrySchema = z.object({
  state: z.enum(['queued', 'running', 'done']),
  pages: z.array(
    z.object({
      path: z.string().describe('As it is stored'),
      category: z
        .string()
        .describe('Of the crawler as which it is tried: one whose rule changes, else `search`'),
      variant: z
        .enum(PAGE_VARIANTS)
        .describe('The device as which it is tried: one whose rule changes, else `desktop`'),
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
  const add = domainRoutes(app, pool, 'Domains')

  add('POST', 'rules/try', 'tryRules', {
    summary: 'Render pages under other rules, without saving them',
    description:
      'Renders each page under the present and under the given rules, at priority `refresh`, and compares what a crawler gets. Nothing is stored or counted. At most 200 pages a domain and day.',
    body: bodySchema,
    refuses: ['rule_try_limit', 'queue_full'],
    response: { 202: jsonResponse('Its id', z.object({ id: z.string() })) },
    handler: async (domain, { body }, reply) => {
      const of = { account: domain.account, domain: domain.id }
      const paths = body.paths
        ? pagePathsOf(domain, body.paths)
        : await mostAskedPaths(pool, of, clock.nowMs(), TRIED_AT_ONCE)
      const id = await requestTry(pool, domain, body.rules, paths)
      return reply.code(202).send({ id })
    },
  })

  add('GET', 'rules/try/:tryId', 'getRuleTry', {
    summary: 'What the tried rules change; kept for a day',
    params: z.object({ tryId: z.string() }),
    refuses: ['rule_try_not_found'],
    response: { 200: jsonResponse('The pages', ruleTrySchema) },
    handler: async (domain, { params }) => {
      const id = parseJobId(params.tryId)
      const found = id === null ? null : await findTry(pool, domain.id, id)
      if (found === null) throw new AppError('rule_try_not_found')
      return found
    },
  })

  add('GET', 'rules/try/:tryId/:place/:side', 'getRuleTryPicture', {
    summary: 'What a page looks like under the present or the tried rules',
    params: z.object({
      tryId: z.string(),
      place: z.coerce.number().int().min(0).max(TRIED_AT_ONCE).describe('In `pages`, counting from 0'),
      side: z.enum(TRY_SIDES),
    }),
    refuses: ['invalid_field', 'rule_try_not_found'],
    response: { 200: pictureResponse('The screenshot') },
    handler: async (domain, { params }, reply) => {
      const { tryId, place, side } = params
      const id = parseJobId(tryId)
      const found = id === null ? null : await findTryPicture(pool, domain.id, { id, place, side })
      if (found === null) throw new AppError('rule_try_not_found')
      return reply.header('Content-Security-Policy', CUSTOMER_CONTENT_POLICY).type('image/webp').send(found)
    },
  })
}
