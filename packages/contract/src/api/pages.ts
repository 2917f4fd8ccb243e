import { z } from 'zod'
import { FORMS } from '../outcome/form.ts'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { PATH_LIMIT_CHARS } from '../page/path.ts'
import { apiSchema } from './api-schema.ts'

export const PAGE_ORDERS = [
  'path',
  'status',
  'size',
  'rendered',
  'fresh_until',
  'last_crawler',
  'last_render',
] as const

const MATCH_LIMIT_CHARS = PATH_LIMIT_CHARS

export const REFRESH_PATH_LIMIT = 1_000

export const pathsSchema = z
  .array(z.string().startsWith('/', 'must start with /'))
  .min(1)
  .max(REFRESH_PATH_LIMIT)
  .describe('Paths beginning with `/`; duplicates are joined')

const searchSchema = z
  .string()
  .max(MATCH_LIMIT_CHARS)
  .describe('Text that is in the path, in any case, encoded or not')

const matchSchema = z
  .enum(['contains', 'prefix'])
  .describe('`prefix`: the path begins with this text, case-sensitive')

/** Listed pages, or all pages that match a search. */
export const pageChoiceSchema = z.union(
  [
    z.strictObject({ paths: pathsSchema }),
    z.strictObject({ search: searchSchema.min(1), match: matchSchema.optional() }),
  ],
  'must have "paths", or "search" with "match"',
)

export const variantSchema = z
  .enum(PAGE_VARIANTS)
  .optional()
  .describe('The device that it was rendered for. Default: `desktop`')

export const onePageQuery = z.object({
  path: z.string().startsWith('/', 'must start with /').optional().describe('Default: `/`'),
  variant: variantSchema,
  form: z.enum(FORMS).optional().describe('Default: `html`'),
})

const time = z.iso.datetime({ precision: 3 })

export const listedPageSchema = apiSchema(
  'ListedPage',
  z.object({
    path: z.string().describe('Path beginning with `/`, with its normalised query'),
    variants: z
      .array(z.enum(PAGE_VARIANTS))
      .describe('Stored for which devices. The other fields describe the first one'),
    status: z.int().describe('Status that crawlers get'),
    html_bytes: z.int().describe('Size of the HTML'),
    stored_bytes: z.int().describe('Compressed size'),
    rendered_at: time,
    fresh_until: time.describe('Until then it is served as it is'),
    freshness: z
      .enum(['fresh', 'stale', 'kept', 'gone'])
      .describe(
        '`stale`: served while a refresh is queued; `kept`: served only if the origin or the renderer fails; `gone`: no longer served',
      ),
    last_crawler: z
      .object({
        name: z.string().describe('Its name in the user agent'),
        category: z.string(),
        visited_at: time,
      })
      .nullable()
      .describe('The last crawler in 30 days. A node notes the visits of a page at most once an hour'),
    last_render: z
      .object({ outcome: z.string(), ended_at: time })
      .nullable()
      .describe('The last render in 30 days; it may not be the stored one'),
  }),
)

export const LIST_LIMIT = 200

const CURSOR_LIMIT_CHARS = 6_000

export const listPagesQuery = z.object({
  search: searchSchema.optional(),
  match: matchSchema.optional(),
  order: z.enum(PAGE_ORDERS).optional().describe('Default: by path'),
  direction: z.enum(['asc', 'desc']).optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIST_LIMIT)
    .optional()
    .describe('Pages in one response, default 100'),
  after: z
    .string()
    .max(CURSOR_LIMIT_CHARS)
    .optional()
    .describe('`next` of the previous response; all other parameters must be the same'),
})

export const listPagesAnswer = z.object({
  domain: z.string(),
  pages: z.array(listedPageSchema),
  matching: z.int().nullable().describe('Total number of matching pages; null with `after`'),
  next: z.string().nullable().describe('For `after` of the next request; null: no more pages'),
})

export const refreshPagesAnswer = z.object({
  message: z.string(),
  domain: z.string(),
  pagesQueued: z.int().describe('Queued renders'),
})

/** Above the limits of stored paths and of the User-Agent part in use. */
export const PAGE_URL_LIMIT_CHARS = 8_192

export const USER_AGENT_LIMIT_CHARS = 4_096

export const renderBody = z.object({
  url: z.string().max(PAGE_URL_LIMIT_CHARS).describe('The whole URL of a page of a domain that you own'),
  user_agent: z
    .string()
    .max(USER_AGENT_LIMIT_CHARS)
    .optional()
    .describe('Of the request that you received: for people the response is 204. Absent: a crawler'),
  accept: z
    .string()
    .max(USER_AGENT_LIMIT_CHARS)
    .optional()
    .describe(
      '`Accept` of the request that you received: with `text/markdown` preferred, the page is Markdown',
    ),
})

export const getPageParams = z.object({
  url: z.string().describe('The whole URL of a page of a domain that you own'),
})
