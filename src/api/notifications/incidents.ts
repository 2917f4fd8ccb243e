import { z } from 'zod'
import { listIncidents } from '../../notifications/incidents/incidents.ts'
import { INCIDENT_KINDS } from '../../notifications/kinds.ts'
import { domainNameFrom } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

export const time = z.iso.datetime({ precision: 3 })

const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.number().min(1).max(most))

export const limitParameter = wholeNumber(200).default(100).describe('1 to 200; default 100')
export const afterParameter = wholeNumber(Number.MAX_SAFE_INTEGER)
  .optional()
  .describe('`next` of the page before')

export const kindSchema = z.enum(INCIDENT_KINDS)

export const incidentSchema = apiSchema(
  'Incident',
  z.object({
    id: z.int(),
    domain: z.string(),
    kind: kindSchema,
    state: z.enum(['open', 'resolved']),
    since: time.describe('When the problem began'),
    opened_at: time.describe('When it was reported'),
    resolved_at: time.nullable(),
    resolution: z.string().nullable().describe('Why it ended; `inactive`: the domain was switched off'),
    summary: z.string(),
    evidence: z.object({
      count: z.int().describe('What the summary counts'),
      pages: z
        .array(z.object({ path: z.string(), outcome: z.string(), detail: z.string().nullable(), at: time }))
        .max(3),
      changes: z
        .array(z.object({ what: z.enum(['deploy', 'settings', 'certificate', 'dns']), at: time }))
        .describe('What changed in the day before'),
      level: z.int().nullable().describe('Of `quota_reached`: percent'),
      advice: z.string().describe('What to try first'),
      url: z.string().describe('The screen that shows it'),
    }),
  }),
)

export function incidents(app: ApiApp, { pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/incidents',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'listIncidents',
      tags: ['Notifications'],
      summary: 'Incidents of the account of the last 400 days: open first, newest first',
      querystring: z.object({
        domain: z.string().optional(),
        state: z.enum(['open', 'resolved']).optional(),
        limit: limitParameter,
        after: afterParameter,
      }),
      response: {
        200: jsonResponse(
          'The incidents',
          z.object({ incidents: z.array(incidentSchema), next: z.int().nullable().describe('For `after`') }),
        ),
      },
    },
    handler: async (request) => {
      const { domain, state = null, limit, after = null } = request.query
      const name = domain === undefined ? null : domainNameFrom(domain)
      return listIncidents(pool, callerOf(request).account, { domain: name, state, limit, after })
    },
  })
}
