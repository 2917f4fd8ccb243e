import { z } from 'zod'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { apiSchema } from './api-schema.ts'

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

export const digestSchema = apiSchema(
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
