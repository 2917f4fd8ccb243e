import { z } from 'zod'
import { domainSettingsSchema } from '../settings/domain-settings.ts'
import { apiSchema } from './api-schema.ts'

const siteTokenSchema = apiSchema(
  'SiteToken',
  z.object({
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    replaces_until: z
      .string()
      .nullable()
      .describe('The token before is valid until then; null: there is none'),
    created_by: z.string(),
  }),
)

export const siteTokenAnswer = z.object({ site_token: siteTokenSchema.nullable() })

export const createSiteTokenAnswer = z.object({
  token: z.string().describe('Shown only here'),
  replaces_until: z
    .string()
    .nullable()
    .describe('The token before is valid until then; null: there was none'),
})

export const deleteSiteTokenAnswer = z.object({ deleted: z.object({ domain: z.string() }) })

const WAYS = ['proxy', 'middleware'] as const

/** By which way a crawler's request came: itself (`proxy`), or as a front's request for the page (`middleware`). */
export type Way = (typeof WAYS)[number]

const CHECK_REASONS = [
  'answer-lost',
  'refused',
  'not-forwarded',
  'unresolvable',
  'refused-address',
  'unreachable',
  'tls',
  'timed-out',
  'redirect',
] as const

const stateSchema = z
  .enum([...WAYS, 'not_seen'])
  .describe('The way of the newest request of a crawler in the last 7 days')

const wayEvidenceSchema = apiSchema(
  'WayEvidence',
  z.object({
    first_at: z.string(),
    last_at: z.string(),
    visits_24h: z.int(),
    crawler: z.string().describe('Of the newest request, as its path'),
    path: z.string(),
    int_type: z.string().nullable().describe('`X-Prerender-Int-Type` of the newest request'),
    int_version: z.string().nullable(),
  }),
)

const checkSchema = apiSchema(
  'IntegrationCheck',
  z.object({
    state: stateSchema,
    reason: z
      .enum(CHECK_REASONS)
      .nullable()
      .describe(
        'null: the request arrived, and our page came back. `answer-lost`: it arrived, and something else came back. Others: it did not arrive',
      ),
    detail: z.string().nullable(),
    url: z.string(),
    via: z.string().nullable(),
    status: z.int().nullable().describe('Of the response of the site'),
    int_type: z.string().nullable(),
    int_version: z.string().nullable(),
    ms: z.int(),
    checked_at: z.string(),
  }),
)

export type IntegrationCheck = z.infer<typeof checkSchema>

export const integrationAnswer = apiSchema(
  'Integration',
  z.object({
    domain: z.string(),
    state: stateSchema,
    ways: z.object({ proxy: wayEvidenceSchema.nullable(), middleware: wayEvidenceSchema.nullable() }),
    refused: z
      .object({ reason: z.string(), count: z.int(), last_at: z.string() })
      .nullable()
      .describe('Requests of the last 24 hours with a dead or insufficient key of this account'),
    check: checkSchema.nullable().describe('The newest check'),
  }),
)

export const listIntegrationsAnswer = z.object({
  integrations: z.array(
    apiSchema(
      'IntegrationSummary',
      z.object({
        domain: z.string(),
        way: domainSettingsSchema.shape.way.describe('How the owner wants crawlers to come: `settings.way`'),
        state: stateSchema,
        last_at: z.string().nullable().describe('The newest request of a crawler; null: never'),
      }),
    ),
  ),
})

export const checkIntegrationBody = z.object({
  path: z.string().startsWith('/', 'must start with /').optional().describe('Default: `/`'),
  via: z
    .string()
    .optional()
    .describe('Where to connect instead of the addresses in the DNS, such as `http://203.0.113.7`'),
})

export const checkIntegrationAnswer = z.object({ check: checkSchema })
