import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

export const changeWarmBody = z.object({
  paused: z
    .boolean()
    .describe(
      'true: removes the waiting jobs from the queue; false: continues, also a warm that ended with the reason `over-quota`',
    ),
})

export const startWarmBody = z
  .object({
    which: z
      .enum(['all', 'outdated'])
      .optional()
      .describe(
        '`outdated`: only pages that are not stored, stale, or older than their sitemap says. Default: `all`',
      ),
  })
  .nullish()

const time = z.iso.datetime({ precision: 3 })

export const warmSchema = apiSchema(
  'Warm',
  z.object({
    which: z
      .enum(['all', 'outdated'])
      .describe('`outdated`: only pages that are not stored, stale, or older than their sitemap says'),
    state: z
      .enum(['reading', 'queueing', 'rendering', 'done', 'cancelled', 'failed'])
      .describe('robots.txt and the sitemaps are read first, then pages are queued, at most 2,000 at a time'),
    paused_at: time.nullable().describe('Null: not paused'),
    reason: z
      .string()
      .nullable()
      .describe(
        'Why it was paused or ended without a request for that: `over-quota`, `domain-inactive` or a sentence',
      ),
    started_at: time,
    ended_at: time.nullable(),
    sitemaps: z.object({
      read: z.int(),
      left: z.int(),
      failed: z.int(),
      failures: z
        .array(z.object({ path: z.string(), reason: z.string() }))
        .describe('The first sitemaps that could not be read'),
    }),
    known: z.int().describe('Known paths, once the sitemaps are read; 0 until then'),
    done: z.int(),
    unchanged: z.int().describe('Of `done`: pages that had not changed'),
    failed: z.int(),
    forbidden: z.int().describe('Skipped: robots.txt does not allow them for `Prepaint`'),
    passed: z.int().describe('Skipped: a rule of the domain passes them to the origin'),
    redirected: z.int().describe('Skipped: a redirect of the domain answers for them'),
    fresh: z.int().describe('Skipped by `outdated`: the stored page is up to date'),
    left: z
      .int()
      .nullable()
      .describe(
        'Still to be rendered, or not rendered if the warm ended with the reason `over-quota`; null while sitemaps are read',
      ),
    pages_per_second: z.number().nullable().describe('In the last minute; null: none were rendered'),
    seconds_left: z.int().nullable().describe('At that speed; null: unknown'),
  }),
)

export const warmAnswer = z.object({
  domain: z.string(),
  warm: warmSchema.nullable().describe('Null: there never was one'),
})
