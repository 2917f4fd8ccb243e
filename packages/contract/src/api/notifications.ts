import { z } from 'zod'
import { INCIDENT_KINDS, NOTE_LIMIT_CHARS } from '../notifications/kinds.ts'
import { nextField, pageQuery, timeSchema } from '../notifications/lists.ts'
import { apiSchema } from './api-schema.ts'
import { commaList } from './comma-list.ts'

export const addressSchema = z.object({
  email: z.string(),
  domains: z
    .array(z.string())
    .max(1_000)
    .nullable()
    .describe('Names of the domains that it is told of; null, the default: all, later ones too'),
  kinds: z.array(z.enum(INCIDENT_KINDS)).describe('Kinds of incidents that it is told of; default: all'),
  weekly_report: z.boolean(),
  monthly_report: z.boolean().describe('Sent on the 1st of each month at 06:00 UTC; default: no'),
  state: z
    .enum(['waiting', 'confirmed', 'unsubscribed', 'refused'])
    .describe('`waiting`: not confirmed yet; `refused`: the mail server refused the address'),
})

export const addressesSchema = z
  .array(
    addressSchema
      .omit({ state: true })
      .partial({ domains: true, kinds: true, weekly_report: true, monthly_report: true }),
  )
  .max(10)

export const DELIVERY_ERRORS = [
  'timed-out',
  'unreachable',
  'refused-address',
  'unresolvable',
  'tls',
  'redirect',
] as const

export const deliverySchema = z
  .object({
    id: z.int(),
    event_id: z.string().describe('The `webhook-id`: the same for every endpoint, attempt and replay'),
    type: z.string(),
    state: z.enum(['waiting', 'delivered', 'failed', 'cancelled']),
    attempts: z.int(),
    created_at: timeSchema,
    last_attempt_at: timeSchema.nullable(),
    next_attempt_at: timeSchema.nullable(),
    status: z.int().nullable().describe('HTTP status of the last attempt; null: no HTTP answer came'),
    error: z.enum(DELIVERY_ERRORS).nullable().describe('Why no answer came, or `redirect`'),
    answer: z.string().nullable().describe('The first 1,000 characters of the answer'),
    ms: z.int().nullable(),
    replay_of: z.int().nullable().describe('The delivery that this one repeats'),
  })
  .meta({ id: 'Delivery' })

export const deliveriesSchema = z.object({ deliveries: z.array(deliverySchema), next: nextField })

export const EVENT_TYPES = [
  'incident.opened',
  'incident.updated',
  'incident.resolved',
  'domain.live',
  'domain.certificate_issued',
  'deploy.detected',
  'warm.finished',
  'report.weekly',
] as const

export const endpointSchema = z
  .object({
    id: z.int(),
    url: z.string(),
    format: z.enum(['standard', 'slack']),
    events: z.array(z.enum(EVENT_TYPES)),
    is_active: z.boolean(),
    created_at: timeSchema,
    failing_since: timeSchema.nullable().describe('Since when no delivery succeeded; null: the last one did'),
    switched_off_at: timeSchema
      .nullable()
      .describe('Switched off after three days of failures, or by status 410'),
  })
  .meta({ id: 'Endpoint' })

export const newEndpointSchema = z.object({
  url: z.string().describe('https, port 443 or from 1024 up'),
  format: endpointSchema.shape.format.optional(),
  events: endpointSchema.shape.events
    .min(1)
    .optional()
    .describe('Types of events; default: all but `report.weekly`'),
})

export const endpointChangeSchema = newEndpointSchema
  .omit({ format: true })
  .partial()
  .extend({
    is_active: z.boolean().optional().describe('false: cancels what waits; true: forgets past failures'),
  })

const domainInReportSchema = z.object({
  domain: z.string(),
  visits: z.number(),
  hit_ratio: z.number().nullable(),
  renders: z.number(),
  pages_failing: z.int().describe('Pages whose last render failed in this week'),
  incidents: z.int(),
  deploys: z.int(),
})

export const reportSchema = z
  .object({
    week: z.string().describe('ISO 8601, Monday to Sunday in UTC'),
    from: z.string(),
    to: z.string(),
    visits: z.number().describe('Requests of crawlers'),
    visits_before: z.number().describe('The same, of the week before'),
    hit_ratio: z.number().nullable(),
    renders: z.number(),
    crawlers: z.array(z.object({ crawler: z.string(), visits: z.number() })).describe('At most 10'),
    domains: z.array(domainInReportSchema).describe('At most 50, those with the most requests'),
  })
  .meta({ id: 'Report' })

/** An incident as the API and events describe it. */
export const incidentSchema = z
  .object({
    id: z.int(),
    domain: z.string(),
    kind: z.enum(INCIDENT_KINDS),
    state: z.enum(['open', 'resolved']),
    since: timeSchema.describe('When the problem began'),
    opened_at: timeSchema.describe('When it was reported'),
    resolved_at: timeSchema.nullable(),
    resolution: z.string().nullable().describe('Why it ended; `inactive`: the domain was switched off'),
    summary: z.string(),
    evidence: z.object({
      count: z.int().describe('What the summary counts'),
      pages: z
        .array(
          z.object({ path: z.string(), outcome: z.string(), detail: z.string().nullable(), at: timeSchema }),
        )
        .max(3),
      changes: z
        .array(z.object({ what: z.enum(['deploy', 'settings', 'certificate', 'dns']), at: timeSchema }))
        .describe('What changed in the day before'),
      level: z.int().nullable().describe('Of `quota_reached`: percent'),
      advice: z.string().describe('What to try first'),
      url: z.string().describe('The screen that shows it'),
    }),
    acknowledged: z
      .object({
        by: z.string().describe('The e-mail address of a person, or the name of an API key'),
        at: timeSchema,
        note: z.string().nullable(),
      })
      .nullable()
      .describe('Who takes care of it: no reminders are sent any more'),
  })
  .meta({ id: 'Incident' })

/** What clients of the account's owner see. */
export const incidentForClientsSchema = incidentSchema
  .omit({ acknowledged: true })
  .extend({ evidence: incidentSchema.shape.evidence.omit({ changes: true }) })
  .meta({ id: 'IncidentForClients' })

export const incidentsSchema = z.object({
  incidents: z.array(z.union([incidentSchema, incidentForClientsSchema])),
  next: nextField,
})

export const incidentQuery = pageQuery.extend({
  domain: z.string().optional(),
  state: incidentSchema.shape.state.optional(),
  kind: commaList(z.enum(INCIDENT_KINDS)).optional().describe('One or more kinds, with commas between them'),
})

export const incidentParams = z.object({ id: z.string().describe('The `id` in the list') })

export const updateIncidentBody = z.object({
  acknowledged: z.boolean().describe('true: you take care of it, and no reminders are sent any more'),
  note: z
    .string()
    .max(NOTE_LIMIT_CHARS)
    .refine((text) => !text.includes('\0'), 'must not contain a null character')
    .nullable()
    .optional()
    .describe('For the other members of the account'),
})

export const updateIncidentAnswer = z.object({ incident: incidentSchema })

export const NO_WEEK = 'must be a week such as 2026-W47'

export const channelsSchema = apiSchema(
  'Notifications',
  z.object({
    emails: z.array(addressSchema),
    by_mail: z.boolean().describe('false: the operator has configured no mail server'),
  }),
)

const createdEndpointSchema = apiSchema(
  'NewEndpoint',
  endpointSchema.extend({ secret: z.string().describe('Signs deliveries; shown only once') }),
)

export const endpointParams = z.object({ id: z.string().describe('The `id` in the list') })

export const putNotificationsBody = z.object({ emails: addressesSchema })

export const confirmAddressBody = z.object({
  token: z.string().min(1).max(200).describe('The part of the link after `#`'),
})

export const confirmAddressAnswer = z.object({ email: z.string() })

export const getReportQuery = z.object({
  week: z
    .string()
    .regex(/^\d{4}-W\d{2}$/, { error: NO_WEEK })
    .optional()
    .describe('Such as `2026-W47`; default: the last whole week'),
})

export const getReportAnswer = z.object({ report: reportSchema })

export const listEndpointsAnswer = z.object({ endpoints: z.array(endpointSchema) })

export const createEndpointAnswer = z.object({ endpoint: createdEndpointSchema })

export const updateEndpointAnswer = z.object({ endpoint: endpointSchema })

export const deleteEndpointAnswer = z.object({ deleted: endpointSchema.pick({ id: true, url: true }) })
