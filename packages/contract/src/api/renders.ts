import { z } from 'zod'
import { nextField, pageQuery } from '../notifications/lists.ts'
import { JOB_OUTCOMES, PRIORITIES } from '../outcome/job.ts'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { apiSchema } from './api-schema.ts'
import { commaList } from './comma-list.ts'

const ms = z.int().nullable().describe('Milliseconds since the render was requested; null: not reached')

export const ruleChangesSchema = z.object({
  rule: z.int().describe('In `settings.rules` at that time, from 0'),
  removed: z.array(z.object({ selector: z.string(), elements: z.int() })),
  consent: z.int().describe('Elements of consent banners that were removed'),
  head: z.array(z.string()).describe('`title`, `robots`, `canonical`, or names of meta elements'),
  headers: z.array(z.string()).describe('Names of response headers'),
})

export const renderSchema = apiSchema(
  'Render',
  z.object({
    jobId: z.string().describe('Its job'),
    requestId: z
      .string()
      .nullable()
      .describe('The crawler’s request, as in the `X-Request-Id` of its response; null: none'),
    path: z.string(),
    variant: z.enum(PAGE_VARIANTS).describe('The device that it was rendered for'),
    outcome: z.string().describe('As in the job'),
    priority: z.enum(PRIORITIES).nullable().describe('Of its job; null: no longer known'),
    detail: z.string().nullable().describe('Details of the outcome'),
    ended_at: z.iso.datetime({ precision: 3 }),
    queued_ms: z.int().describe('From the first request for the job until it was claimed'),
    stored_ms: z.int().describe('From the claim until the result was stored'),
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
          'What ended the wait for the page: `ready-signal`, `budget`, `idle`, `cap`, or `deadline` (a crawler waited); null: no snapshot was taken',
        ),
      requests: z.object({
        made: z.int(),
        spared: z.int().describe('Images that were not downloaded'),
        preloaded: z
          .int()
          .optional()
          .describe('Of `made`: sent ahead of the page, because similar pages always request them'),
        blocked: z.int(),
        failed: z.int(),
        missing: z.int().optional().describe('Unanswered at the capture, although content may need them'),
      }),
      troubles: z
        .array(z.object({ url: z.string(), kind: z.string(), reason: z.string() }))
        .describe('The first `blocked`, `failed` or `missing` requests'),
      consoleErrors: z.object({ count: z.int(), texts: z.array(z.string()).describe('The first ones') }),
      htmlBytes: z.int().nullable().describe('Size of the HTML; null: none'),
      rule: ruleChangesSchema.optional().describe('What a rule of the domain changed'),
    }),
  }),
)

export const listRendersQuery = z.object({
  outcome: commaList(z.enum(JOB_OUTCOMES))
    .optional()
    .describe('One or more outcomes, with commas between them'),
  path: z.string().max(2_000).optional().describe('Part of the path'),
  priority: z.enum(PRIORITIES).optional(),
  since: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 time' })
    .optional()
    .describe('By `ended_at`'),
  limit: pageQuery.shape.limit.default(50).describe('1 to 200; default 50'),
  after: pageQuery.shape.after,
})

export const completeSchema = z
  .object({
    stored: z.int().describe('Pages whose last render stored them'),
    complete: z.int().describe('Of these, pages with outcome `static`: the origin sends complete HTML'),
    folders: z.array(z.string()).describe('Folders with at least 10 such pages and at most 3 others'),
  })
  .describe('Which pages need no browser. A rule with action `pass` leaves them to the origin')

export const listRendersAnswer = z.object({
  domain: z.string(),
  renders: z.array(renderSchema),
  complete: completeSchema,
  next: nextField,
})
