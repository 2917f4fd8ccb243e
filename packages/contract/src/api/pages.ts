import { z } from 'zod'
import { FORMS } from '../outcome/form.ts'
import { JOB_OUTCOMES } from '../outcome/job.ts'
import { FRESHNESS_STATES } from '../page/freshness.ts'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { PATH_LIMIT_CHARS } from '../page/path.ts'
import { apiSchema } from './api-schema.ts'
import { commaList } from './comma-list.ts'

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

export const queuedJobSchema = apiSchema(
  'QueuedJob',
  z.object({
    path: z.string().describe('Path being refreshed, as it is stored'),
    jobId: z.string().describe('Identifier of the queued render job'),
  }),
)

const searchSchema = z
  .string()
  .max(MATCH_LIMIT_CHARS)
  .describe('Text that is in the path, in any case, encoded or not')

const matchSchema = z
  .enum(['contains', 'prefix'])
  .describe('`prefix`: the path begins with this text, case-sensitive')

const statusSchema = z
  .string()
  .regex(/^[1-5]\d\d$/, { error: 'must be an HTTP status, such as 404' })
  .transform(Number)

/** Of the page that a list shows for a path. Lists have commas between their values. */
const filterFields = {
  status: commaList(statusSchema).optional().describe('Statuses that crawlers get, such as `404,410`'),
  freshness: commaList(z.enum(FRESHNESS_STATES)).optional().describe('`fresh`, `stale`, `kept`, `gone`'),
  outcome: commaList(z.enum(JOB_OUTCOMES))
    .optional()
    .describe('Outcomes of the last render; it may not be the stored one'),
  variant: commaList(z.enum(PAGE_VARIANTS)).optional().describe('Stored for these devices'),
}

/** Pages as the list shows them with the same parameters. */
export const pageFilterSchema = z
  .strictObject({
    search: searchSchema.optional(),
    match: matchSchema.optional(),
    ...filterFields,
    unvisited: z.boolean().optional().describe('true: no crawler requested it in the last 30 days'),
  })
  .refine(({ search = '', match: _, ...filters }) => {
    return search.trim() !== '' || Object.values(filters).some((value) => value !== undefined)
  }, 'must not be empty')

/** Listed pages, or all pages that match a search or a filter. */
export const pageChoiceSchema = z.union(
  [
    z.strictObject({ paths: pathsSchema }),
    z.strictObject({ search: searchSchema.min(1), match: matchSchema.optional() }),
    z.strictObject({ filter: pageFilterSchema }),
  ],
  'must have "paths", or "search" with "match", or "filter"',
)

export const rerenderBody = z.union(
  [z.strictObject({ paths: pathsSchema }), z.strictObject({ filter: pageFilterSchema })],
  'must have "paths" or "filter"',
)

export const rerenderAnswer = z.object({ jobs: z.array(queuedJobSchema) })

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
      .enum(FRESHNESS_STATES)
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
  ...filterFields,
  unvisited: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('`true`: no crawler requested it in the last 30 days'),
  counts: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('`false` leaves out `counts`, which take a second for 300,000 pages. Default: `true`'),
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

const countOfValues = z.record(z.string(), z.int())

const pageCountsSchema = apiSchema(
  'PageCounts',
  z.object({
    status: countOfValues,
    freshness: countOfValues,
    outcome: countOfValues.describe('Pages without a render in 30 days are not counted'),
    variant: countOfValues.describe('A page that is stored for both devices counts for both'),
    unvisited: z.object({ true: z.int(), false: z.int() }),
  }),
)

export const listPagesAnswer = z.object({
  domain: z.string(),
  pages: z.array(listedPageSchema),
  matching: z.int().nullable().describe('Total number of matching pages; null with `after`'),
  counts: pageCountsSchema
    .nullable()
    .describe(
      'How many pages each value of a filter finds beside the other filters; null with `after`, with `counts=false`, and where the search alone finds more than 500,000 pages',
    ),
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
