import { z } from 'zod'
import { ACTOR_KINDS, AUDIT_ACTIONS } from '../audit-actions.ts'
import { apiSchema } from './api-schema.ts'

export const auditEntrySchema = apiSchema(
  'AuditEntry',
  z.object({
    id: z.int().describe('Grows'),
    at: z.string(),
    actor: z.object({
      kind: z.enum(ACTOR_KINDS),
      id: z.int().nullable().describe('Of a person or an API key'),
      name: z.string().describe('The address of a person, the name of a key'),
    }),
    way: z.string().nullable().describe('How a person has signed in'),
    address: z.string().nullable().describe('IP address of the client; of IPv6 its /64'),
    user_agent: z.string().nullable(),
    action: z.enum(AUDIT_ACTIONS),
    domain: z.string().nullable(),
    target: z.string().nullable().describe('What it was done to: an address, a name, a URL'),
    details: z
      .record(z.string(), z.unknown())
      .describe('Changed fields as `{"old", "new"}`. Secrets are `"(secret)"`'),
    request_id: z.string().nullable(),
  }),
)

export type AuditEntryView = z.infer<typeof auditEntrySchema>

const ACTION_GROUPS = [...new Set(AUDIT_ACTIONS.map((action) => action.slice(0, action.indexOf('.'))))]
const ACTION_FILTERS = [...AUDIT_ACTIONS, ...ACTION_GROUPS.map((group) => `${group}.*`)]

const timeSchema = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' })
  .optional()

const FILTER_LIMIT_CHARS = 300

export const LISTED_ENTRIES = 200

const numberText = (least: number, most: number, error: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, { error })
    .refine((text) => Number(text) >= least && Number(text) <= most, { error })

export const auditQuery = z.object({
  from: timeSchema.describe('Entries of this time or later'),
  to: timeSchema.describe('Entries before this time'),
  action: z
    .string()
    .refine((action) => ACTION_FILTERS.includes(action), {
      error: 'must be an action such as domain.added, or a group such as member.*',
    })
    .optional(),
  actor: z.string().max(FILTER_LIMIT_CHARS).optional().describe('A name as it is shown'),
  domain: z.string().max(FILTER_LIMIT_CHARS).optional(),
  limit: numberText(1, LISTED_ENTRIES, `must be a whole number in 1..${LISTED_ENTRIES}`)
    .optional()
    .describe(`Default: 100. At most ${LISTED_ENTRIES}`),
  after: numberText(0, Number.MAX_SAFE_INTEGER, 'must be the `next` of an answer')
    .optional()
    .describe('The `next` of the answer before'),
  format: z
    .enum(['json', 'csv', 'jsonl'], { error: 'must be one of json, csv, jsonl' })
    .optional()
    .describe('`csv` and `jsonl`: all entries that match, as a file'),
})

export const listAuditAnswer = z.object({
  entries: z.array(auditEntrySchema),
  next: z.int().nullable().describe('Give it as `after` for older entries; null: there are none'),
})
