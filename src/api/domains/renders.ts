import type pg from 'pg'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { lastRenders } from '../../queue/judging/render-records.ts'
import { callerOf } from '../http/access.ts'
import { answer, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, apiSchema } from '../http/app.ts'
import { domainNameOf, domainParams } from './domain-schema.ts'

export function domainRenders(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/renders',
    config: { access: 'key' },
    schema: {
      operationId: 'listRenders',
      tags: ['Jobs'],
      summary: 'How the last 50 renders of a domain went, newest first; kept for a week, 20 of each page',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The renders', z.object({ domain: z.string(), renders: z.array(renderSchema) })),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const domain = domainNameOf(request.params.domain)
      const renders = await lastRenders(deps.pool, callerOf(request).account, domain)
      if (renders === null) throw new AppError('domain_not_found')
      return { domain, renders }
    },
  })
}

const ms = z
  .int()
  .nullable()
  .describe('Milliseconds from the moment the render was asked for; null: not reached')

export const renderSchema = apiSchema(
  'Render',
  z.object({
    jobId: z.string().describe('The job that it was for'),
    requestId: z
      .string()
      .nullable()
      .describe(
        'The crawler’s request that it was queued for, as `X-Request-Id` in its answer has it; null: none',
      ),
    path: z.string(),
    outcome: z.string().describe('How it ended, in the words of a job'),
    detail: z.string().nullable().describe('Why, where the outcome does not say all'),
    ended_at: z.iso.datetime({ precision: 3 }),
    queued_ms: z.int().describe('From when the job was first asked for until it was taken up'),
    stored_ms: z.int().describe('From then until its result was stored'),
    record: z.object({
      phases: z.object({
        slot: ms,
        tab: ms,
        navigate: ms,
        firstResponse: ms,
        settled: ms,
        snapshot: ms,
      }),
      capture: z
        .string()
        .nullable()
        .describe(
          'Why the page was taken when it was: `ready-signal`, `budget`, `idle` or `cap`; null: it was not taken',
        ),
      requests: z.object({
        made: z.int(),
        spared: z.int().describe('Pictures that were not downloaded'),
        preloaded: z
          .int()
          .optional()
          .describe(
            'Of those made: sent to the origin ahead of the page, as pages like it have always asked for them',
          ),
        blocked: z.int(),
        failed: z.int(),
      }),
      troubles: z
        .array(z.object({ url: z.string(), kind: z.string(), reason: z.string() }))
        .describe('The first requests that were `blocked` or `failed`'),
      consoleErrors: z.object({ count: z.int(), texts: z.array(z.string()).describe('The first of them') }),
      htmlBytes: z.int().nullable().describe('Size of the page; null: there is none'),
    }),
  }),
)
