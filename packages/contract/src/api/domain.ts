import { z } from 'zod'
import { domainSettingsPatchSchema, domainSettingsSchema } from '../settings/domain-settings.ts'
import { apiSchema } from './api-schema.ts'

const time = z.iso.datetime({ precision: 3 }).describe('ISO 8601 UTC timestamp with milliseconds')

const fields = z.object({
  id: z.int().describe('Identifier of the domain record'),
  custom_domain: z.string().describe('Domain name: lower case, IDN in punycode'),
  origin_url: z.string().describe('Origin address, HTTP or HTTPS'),
  ssl_enabled: z.boolean().describe('Whether a certificate for the domain is in use'),
  renders_used: z.int().describe('Renders consumed in the current month (UTC)'),
  monthly_render_limit: z.int().describe('Monthly render quota of the domain, by the plan of its account'),
  is_active: z
    .boolean()
    .describe('Whether crawlers get rendered pages. All traffic of an inactive domain goes to the origin'),
  created_at: time,
  updated_at: time,
})

export const domainSchema = apiSchema('Domain', fields)

export const settingsSchema = apiSchema('DomainSettings', domainSettingsSchema)

export const domainWithSettingsSchema = apiSchema(
  'DomainWithSettings',
  fields.extend({
    settings: settingsSchema,
    indexnow_key: z.string().nullable().describe('Null: IndexNow was never switched on'),
  }),
)

const deletedDomainSchema = apiSchema(
  'DeletedDomain',
  fields.pick({ id: true, custom_domain: true, origin_url: true, is_active: true }),
)

/** Accepts any text: invalid names get the same response as unknown domains. */
export const domainParams = z.object({
  domain: z.string().describe('Domain name, in any case; IDN as it is or in punycode'),
})

export const createDomainBody = z.object({
  custom_domain: z.string().describe('Name to register; IDN is turned into punycode'),
  origin_url: z.string().describe('Scheme, host and port of the site; no internal address'),
})

export const updateDomainQuery = z.object({
  refresh: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: pages that were rendered under other rules become stale'),
})

export const updateDomainAnswer = z.object({
  domain: domainWithSettingsSchema,
  warnings: z
    .array(
      z.union([
        z.object({
          rule: z.int().describe('Counts from 0'),
          covered_by: z.int().describe('The earlier rule that takes all that this one could'),
        }),
        z.object({ origin_header: z.string().describe('Its name'), message: z.string() }),
      ]),
    )
    .optional()
    .describe(
      'With `settings.rules`: rules that never match. With `settings.origin_headers`: those for all requests',
    ),
  outdated_pages: z
    .int()
    .optional()
    .describe(
      'With `settings.rules`: stored pages that were rendered under other rules. They stay until stale',
    ),
})

export const updateDomainBody = z
  .object({
    origin_url: z.string().optional().describe('Scheme, host and port of the site; no internal address'),
    is_active: z.boolean().optional(),
    settings: domainSettingsPatchSchema.optional().describe('Absent fields stay as they are'),
  })
  .describe('At least one of the fields; absent ones stay as they are')

/** What clients of the account's owner see. */
export const domainForClientsSchema = apiSchema('DomainForClients', fields.omit({ origin_url: true }))

export const listDomainsAnswer = z.object({
  domains: z.array(z.union([domainSchema, domainForClientsSchema])),
})

export const createDomainAnswer = z.object({ domain: domainSchema })

export const getDomainAnswer = z.object({
  domain: z.union([domainWithSettingsSchema, domainForClientsSchema]),
})

export const deleteDomainAnswer = z.object({ deleted: deletedDomainSchema })

export const egressSchema = z.object({
  user_agent: z
    .string()
    .describe('Part of the user agent of every request of renders, unless the owner set another'),
  addresses: z
    .array(z.string())
    .describe(
      'Addresses and CIDR ranges from which origins are reached; empty: the operator has not named them',
    ),
})
