import { z } from 'zod'
import { INCIDENT_KINDS } from '../notifications/kinds.ts'
import { timeSchema } from '../notifications/lists.ts'
import { PORTFOLIO_ORDERS, PORTFOLIO_STATES } from '../portfolio-orders.ts'
import { apiSchema, formatParam } from './api-schema.ts'
import { tagsSchema } from './tags.ts'
import { forecastSchema } from './traffic.ts'

/** Beside the kinds of incidents: a certificate ends within 14 days, the proof of the name is lost, and no request has come the chosen way. */
const REASON_KINDS = [...INCIDENT_KINDS, 'certificate_ending', 'proof_lost', 'not_set_up'] as const

export const MOST_LISTED = 1_000

const sortSchema = z.enum(PORTFOLIO_ORDERS.flatMap((order) => [order, `-${order}`] as const))

export const portfolioQuery = z.object({
  search: z.string().max(200).optional().describe('Part of the name or of a tag'),
  state: z.enum(PORTFOLIO_STATES).optional(),
  tag: z.string().max(200).optional(),
  way: z.enum(['dns', 'middleware']).optional(),
  sort: sortSchema.default('attention'),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.number().min(1).max(MOST_LISTED))
    .default(MOST_LISTED)
    .describe('1 to 1,000; default 1,000'),
  after: z.string().max(2_000).optional().describe('`next` of the part before, in the same order'),
  format: formatParam,
})

const countsSchema = z.object({
  all: z.int(),
  trouble: z.int(),
  warning: z.int(),
  setup: z.int(),
  paused: z.int(),
  ok: z.int(),
})

const portfolioDomainSchema = apiSchema(
  'PortfolioDomain',
  z.object({
    id: z.int(),
    custom_domain: z.string(),
    is_active: z.boolean(),
    way: z.enum(['dns', 'middleware']),
    tags: z.array(z.string()),
    state: z
      .enum(PORTFOLIO_STATES)
      .describe(
        'The worst that applies. `trouble`, `warning`: open incidents, a certificate that ends within 14 days, or a lost proof of the name; `setup`: no request has come the chosen way; `paused`: not active',
      ),
    reasons: z
      .array(
        z.object({
          kind: z.enum(REASON_KINDS),
          text: z.string(),
          since: timeSchema,
          url: z.string().describe('The screen that shows more'),
          acknowledged_by: z
            .string()
            .nullable()
            .optional()
            .describe('Who takes care of the incident; clients of the account do not see it'),
        }),
      )
      .describe('The worst first'),
    visits: z
      .object({
        days: z.array(z.int()).length(7).describe('Of the last seven UTC days, today last'),
        total: z.int(),
        before: z.int().describe('Of the seven days before them'),
      })
      .describe('Of crawlers'),
    hit_ratio: z.number().nullable().describe('Of the seven days; null: no crawler asked for a page'),
    failed_ratio: z.number().nullable().describe('The share of requests that the origin had to answer'),
    renders: z.object({ used: z.int(), limit: z.int(), forecast: forecastSchema.nullable() }),
    last_crawler: z.object({ name: z.string(), category: z.string(), at: timeSchema }).nullable(),
    certificate_ends_at: timeSchema.nullable(),
    open_incidents: z.int(),
  }),
)

export type PortfolioDomain = z.infer<typeof portfolioDomainSchema>

export const portfolioAnswer = apiSchema(
  'Portfolio',
  z.object({
    domains: z.array(portfolioDomainSchema),
    counts: countsSchema.describe('Of all that match without `state`'),
    next: z.string().nullable().describe('For `after`'),
  }),
)

/** Names of domains that a request is about. Unknown ones are answered as foreign ones are. */
export const namedDomainsSchema = z.array(z.string()).min(1).max(MOST_LISTED)

const bulkOf = <Name extends string>(action: Name) => ({
  action: z.literal(action),
  domains: namedDomainsSchema,
})

/** `warm` is the example of documents. */
export const bulkBody = z.discriminatedUnion(
  'action',
  [
    z.object(bulkOf('warm')),
    z.object(bulkOf('rerender')),
    z.object(bulkOf('purge')),
    z.object({ ...bulkOf('tag'), add: tagsSchema.optional(), remove: tagsSchema.optional() }),
    z.object({ ...bulkOf('template'), template_id: z.int() }),
    z.object(bulkOf('pause')),
    z.object(bulkOf('resume')),
  ],
  {
    error: 'must be "warm" or "rerender" or "purge" or "tag" or "template" or "pause" or "resume"',
  },
)

export const bulkAnswer = z.object({
  results: z.array(
    z.object({
      domain: z.string().describe('As it was named'),
      status: z.int().describe('200, or that of the error'),
      error: z.string().nullable(),
    }),
  ),
})

export type BulkResult = z.infer<typeof bulkAnswer>['results'][number]

export const IMPORT_LIMIT_BYTES = 1_048_576

export const importQuery = z.object({
  dry_run: z.enum(['true', 'false']).optional().describe('`true`: nothing is added'),
  partial: z.enum(['true', 'false']).optional().describe('`true`: lines without an error are added'),
})

export const importBody = z
  .string()
  .describe(
    'CSV with a header: `custom_domain,origin_url`, and optional `tags` (joined by `;`), `way`, `template` (its name). `domain,url` are taken too. At most 1,000 lines',
  )

export const importAnswer = z.object({
  lines: z.array(
    z.object({
      line: z.int().describe('Where it begins in the file, from 1'),
      custom_domain: z.string().nullable(),
      state: z.enum(['added', 'would-add', 'error']),
      error: z.string().nullable(),
    }),
  ),
})

export type ImportLine = z.infer<typeof importAnswer>['lines'][number]
