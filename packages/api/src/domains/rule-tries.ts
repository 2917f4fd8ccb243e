import {
  getRuleTryParams,
  getRuleTryPictureParams,
  ruleTrySchema,
  TRIED_AT_ONCE,
  tryRulesAnswer,
  tryRulesBody,
} from '@prepaint/contract/api/rule-tries.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import { findTry, findTryPicture, requestTry } from '@prepaint/pages/queue/tries/rule-tries.ts'
import { mostAskedPaths } from '@prepaint/service/insight/traffic/read-summaries.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse, pictureResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { CUSTOMER_CONTENT_POLICY } from '../pages/inspection.ts'
import { pagePathsOf } from '../pages/page-choice.ts'
import { refuseSelectors } from './refuse-selectors.ts'

export function ruleTries(app: ApiApp, { clock, pool, selectors }: ApiParts): void {
  const add = domainRoutes(app, pool, 'Domains')

  add('POST', 'rules/try', 'tryRules', {
    summary: 'Render pages under other rules, without saving them',
    description:
      'Renders each page under the present and under the given rules, at priority `refresh`, and compares what a crawler gets. Nothing is stored or counted. At most 200 pages a domain and day.',
    body: tryRulesBody,
    refuses: ['rule_try_limit', 'queue_full'],
    response: { 202: jsonResponse('Its id', tryRulesAnswer) },
    handler: async (domain, { body }, reply) => {
      await refuseSelectors(selectors, domain.account, body.rules, ['rules'])
      const of = { account: domain.account, domains: [domain.id] }
      const paths = body.paths
        ? pagePathsOf(domain, body.paths)
        : await mostAskedPaths(pool, of, clock.nowMs(), TRIED_AT_ONCE)
      const id = await requestTry(pool, domain, body.rules, paths)
      return reply.code(202).send({ id })
    },
  })

  add('GET', 'rules/try/:tryId', 'getRuleTry', {
    summary: 'What the tried rules change; kept for a day',
    params: getRuleTryParams,
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
    params: getRuleTryPictureParams,
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
