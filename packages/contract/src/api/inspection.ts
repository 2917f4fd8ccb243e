import { z } from 'zod'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { apiSchema } from './api-schema.ts'
import { listedPageSchema, onePageQuery, variantSchema } from './pages.ts'
import { renderSchema, ruleChangesSchema } from './renders.ts'

const time = z.iso.datetime({ precision: 3 })
const text = z.string().nullable()

export const factsSchema = apiSchema(
  'PageFacts',
  z.object({
    title: text,
    description: text,
    canonical: text.describe('Absolute'),
    robots: text,
    lang: text,
    headings: z.array(z.string()).describe('The first `h1` and `h2`'),
    text: z.array(z.string()).describe('Visible text, one line for each block; the first 100,000 characters'),
    textChars: z.int().describe('Length of the whole text'),
    links: z
      .array(z.object({ href: z.string(), text: z.string() }))
      .describe('Each address once, within the site without the origin; the first 1,000'),
    linkCount: z.int(),
    structured: z
      .array(
        z.object({
          kind: z.enum(['json-ld', 'microdata']),
          types: z.array(z.string()),
          json: z.string(),
          isBroken: z.boolean().describe('It cannot be parsed'),
        }),
      )
      .describe('Structured data'),
    social: z
      .record(z.string(), z.string())
      .describe('`og:`, `twitter:` and similar tags, the first of each'),
  }),
)

const sideSchema = z.object({
  reason: z.string().nullable().describe('Why it could not be loaded; null: it was loaded'),
  status: z.int().nullable(),
  url: z.string().nullable().describe('Final address'),
  loadedMs: z.int().nullable().describe('Milliseconds until the load event; null: it did not fire'),
  isCut: z.boolean().describe('The page is longer than its screenshot'),
  requests: z.object({ made: z.int(), blocked: z.int(), failed: z.int() }),
  troubles: z.array(z.object({ url: z.string(), kind: z.string(), reason: z.string() })),
  consoleErrors: z.object({ count: z.int(), texts: z.array(z.string()) }),
  facts: factsSchema.nullable(),
})

export const inspectionSchema = apiSchema(
  'Inspection',
  z.object({
    id: z.string(),
    path: z.string(),
    variant: z.enum(PAGE_VARIANTS),
    state: z.enum(['queued', 'running', 'done', 'failed']),
    reason: z.string().nullable().describe('Why it failed'),
    requested_at: time,
    finished_at: time.nullable(),
    crawler: sideSchema
      .nullable()
      .describe('The stored page, shown without scripts; null: not stored, not done, or no longer kept'),
    person: sideSchema.nullable().describe('What people get, loaded in real time'),
  }),
)

const digestSchema = apiSchema(
  'PageDigest',
  z.object({
    rendered_at: time,
    status: z.int(),
    html_bytes: z.int(),
    etag: z.string(),
    facts: factsSchema.describe('Shorter texts and lists than for the stored page'),
  }),
)

export type SideView = z.infer<typeof sideSchema>
export type InspectionView = z.infer<typeof inspectionSchema>
export type DigestView = z.infer<typeof digestSchema>

export const PICTURES = ['crawler', 'person', 'card'] as const

export const pageDetailsSchema = z.object({
  domain: z.string(),
  path: z.string().describe('As it is stored'),
  variant: z.enum(PAGE_VARIANTS),
  stored: listedPageSchema
    .extend({
      etag: z.string(),
      headers: z
        .array(z.tuple([z.string(), z.string()]))
        .describe('Response headers for crawlers, besides those of Prepaint'),
      changed_by_rule: ruleChangesSchema
        .nullable()
        .describe('What a rule of the domain changed for crawlers; null: nothing'),
      freshness_rule: z
        .int()
        .nullable()
        .describe(
          'The place of the rule that says how long the page is fresh, counted from 0; null: the settings of the domain say it',
        ),
    })
    .nullable()
    .describe('null: the page is not stored'),
  redirect: z
    .object({ status: z.int(), location: z.string(), stored_at: z.iso.datetime({ precision: 3 }) })
    .nullable()
    .describe('Where crawlers are redirected; null: no redirect'),
  facts: factsSchema.nullable().describe('Content of the stored page'),
  renders: z.array(renderSchema).describe('Its last renders, newest first'),
  history: z.array(digestSchema).describe('Content of its last different snapshots, newest first'),
  inspection: inspectionSchema.nullable().describe('The newest inspection of the last day'),
  requests: z
    .object({ html: z.number(), markdown: z.number(), card: z.number() })
    .describe('Requests of crawlers and tools in the last 7 days, by the form that was given'),
})

const HIDDEN_FROM_CLIENTS = { troubles: true, consoleErrors: true } as const
const sideForClientsSchema = sideSchema.omit(HIDDEN_FROM_CLIENTS).nullable()

/** What clients of the account's owner see. */
export const pageDetailsForClientsSchema = pageDetailsSchema.extend({
  renders: z.array(
    renderSchema
      .extend({ record: renderSchema.shape.record.omit(HIDDEN_FROM_CLIENTS) })
      .meta({ id: 'RenderForClients' }),
  ),
  inspection: inspectionSchema
    .extend({ crawler: sideForClientsSchema, person: sideForClientsSchema })
    .meta({ id: 'InspectionForClients' })
    .nullable(),
})

export const getPageDetailsAnswer = z.union([pageDetailsSchema, pageDetailsForClientsSchema])

export const createInspectionBody = z.object({
  path: z.string().startsWith('/', 'must start with /').describe('The page to inspect, stored or not'),
  variant: variantSchema,
  form: onePageQuery.shape.form.describe('All are shown. 404 for `markdown` or `card` of a page without it'),
})

export const inspectionParams = z.object({ inspectionId: z.string() })

export const createInspectionAnswer = z.object({ inspection: inspectionSchema })

export const getInspectionAnswer = z.object({ inspection: inspectionSchema })
