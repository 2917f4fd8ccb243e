import { z } from 'zod'
import { domainSettingsSchema } from '../settings/domain-settings.ts'
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

export const deletedDomainSchema = apiSchema(
  'DeletedDomain',
  fields.pick({ id: true, custom_domain: true, origin_url: true, is_active: true }),
)

/** Accepts any text: invalid names get the same response as unknown domains. */
export const domainParams = z.object({
  domain: z.string().describe('Domain name, in any case; IDN as it is or in punycode'),
})
