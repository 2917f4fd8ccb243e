import { z } from 'zod'
import { REDIRECT_STATUSES } from '../site-files/redirects.ts'
import { ROBOTS_TEXT_LIMIT_BYTES } from '../site-files/robots-text.ts'
import { apiSchema } from './api-schema.ts'

export const VERSION_KINDS = ['robots', 'redirects', 'policy', 'rules'] as const

const address = z.string().max(2_048)

const status = z
  .union(REDIRECT_STATUSES.map((code) => z.literal(code)))
  .describe('Default: 301. 410 has no `to`')

const redirectEntrySchema = z.object({
  from: address.describe('A path without query; `*` at its end matches any further characters'),
  to: address
    .nullish()
    .describe('A path, or an address with http or https; `*` stands for the text that matched'),
  status: status.optional(),
})

export const redirectSchema = apiSchema(
  'Redirect',
  z.object({
    from: z.string(),
    to: z.string().nullable().describe('Null: gone (410)'),
    status,
    hits: z.int().describe('Counted within 10 seconds; kept while `from` stays'),
    last_used_at: z.iso.datetime({ precision: 3 }).nullable(),
    external: z.boolean().describe('It leads to another host'),
    shadows_page: z.boolean().describe('A stored page is behind it and is no longer served'),
  }),
)

export const redirectsAnswer = z.object({ domain: z.string(), redirects: z.array(redirectSchema) })

export const testRobotsBody = z.object({
  path: z.string().startsWith('/', 'must start with /').max(2_048),
  crawler: z.string().min(1).max(500).describe('A token such as `Googlebot`, or a whole user agent'),
  text: z
    .string()
    .refine(
      (text) => new TextEncoder().encode(text).length <= ROBOTS_TEXT_LIMIT_BYTES,
      'must have at most 512000 bytes',
    )
    .optional()
    .describe('Judged instead of what is served now'),
})

export const robotsVerdictSchema = apiSchema(
  'RobotsVerdict',
  z.object({
    allowed: z.boolean(),
    line: z.int().nullable().describe('Of the rule that decided, from 1; null: none did'),
    rule: z.string().nullable().describe('That line'),
  }),
)

export const robotsSchema = apiSchema(
  'Robots',
  z.object({
    domain: z.string(),
    mode: z.enum(['origin', 'append', 'replace']),
    text: z.string().describe('The owner’s'),
    origin: z.string().nullable().describe('Of the origin; null: it cannot be reached'),
    served: z.string().nullable().describe('As it is served now; null: the origin cannot be reached'),
  }),
)

export const indexNowSchema = apiSchema(
  'IndexNow',
  z.object({
    domain: z.string(),
    enabled: z.boolean(),
    waiting: z.int().describe('Changed pages that search engines have not been told of'),
    sent_at: z.iso.datetime({ precision: 3 }).nullable().describe('Of the last batch; null: none yet'),
    status: z
      .int()
      .nullable()
      .describe(
        'Its answer: 200 or 202; 400, 403 and 422 are refusals, others are tried again for a day. Null: none',
      ),
  }),
)

const kind = z.enum(VERSION_KINDS).describe('`policy`: categories, preferences and terms_url')

const version = z.object({
  id: z.int(),
  kind,
  created_at: z.iso.datetime({ precision: 3 }),
  author: z.string().describe('An e-mail address, `key <name>` or `command line`'),
})

export const versionSchema = apiSchema('Version', version)

export const versionWithContentSchema = apiSchema(
  'VersionWithContent',
  version.extend({ content: z.unknown() }),
)

export const replaceRedirectsBody = z.object({ redirects: z.array(redirectEntrySchema).max(10_000) })

export const listVersionsQuery = z.object({ kind })

export const listVersionsAnswer = z.object({ versions: z.array(versionSchema) })
