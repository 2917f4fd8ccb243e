import { z } from 'zod'

import { apiSchema } from './api-schema.ts'

const time = z.iso.datetime({ precision: 3 })

/** As `WarmProgress`. */
export const warmSchema = apiSchema(
  'Warm',
  z.object({
    which: z
      .enum(['all', 'outdated'])
      .describe('`outdated`: only what is not stored, stale, or older than its sitemap says'),
    state: z
      .enum(['reading', 'queueing', 'rendering', 'done', 'cancelled', 'failed'])
      .describe('First robots.txt and the sitemaps are read, then pages are queued, 2,000 at most at a time'),
    paused_at: time.nullable().describe('Null: it goes on, or is over'),
    reason: z
      .string()
      .nullable()
      .describe(
        'Why it is paused or over, where nobody wanted it: `over-quota`, `domain-inactive` or a sentence',
      ),
    started_at: time,
    ended_at: time.nullable(),
    sitemaps: z.object({
      read: z.int(),
      left: z.int(),
      failed: z.int(),
      failures: z
        .array(z.object({ path: z.string(), reason: z.string() }))
        .describe('The first of those that could not be read'),
    }),
    known: z.int().describe('Paths that were known once the sitemaps had been read; 0 until then'),
    done: z.int(),
    unchanged: z.int().describe('Of the done: the page was the same as before, and lives on'),
    failed: z.int(),
    forbidden: z.int().describe('Left out, as robots.txt of the site does not allow them to `Prepaint`'),
    passed: z.int().describe('Left out, as a rule of the domain passes them to the origin'),
    fresh: z.int().describe('Left out, as the stored copy is good; for `outdated`'),
    left: z.int().nullable().describe('Still to be rendered; null while sitemaps are read'),
    pages_per_second: z.number().nullable().describe('In the last minute; null: none'),
    seconds_left: z.int().nullable().describe('At that speed; null: nobody knows'),
  }),
)

/** What every route about it answers. */
export const warmAnswer = z.object({
  domain: z.string(),
  warm: warmSchema.nullable().describe('Null: none was ever asked for'),
})
