import { z } from 'zod'

/** One open incident for each kind and domain. Most specific first; also in the table `recipient` of src/db/schema.sql. */
export const INCIDENT_KINDS = [
  'origin_unreachable',
  'renders_failing',
  'blocked',
  'pages_shrinking',
  'certificate_failing',
  'dns_lost',
  'quota_forecast',
  'quota_reached',
  'crawlers_gone',
] as const

export type IncidentKind = (typeof INCIDENT_KINDS)[number]

const SMALLER_QUOTA =
  'Lengthen fresh_seconds, ignore query parameters that do not change pages, or choose a larger plan.'

/** What people read: `words` after the domain's name, what to try first, and the screen of the domain that shows more. */
export const KINDS: Record<IncidentKind, { words: string; advice: string; screen: string }> = {
  origin_unreachable: {
    words: 'origin unreachable',
    advice:
      'Open the origin URL yourself. Check that the server runs and that its firewall lets Prepaint in.',
    screen: '/renders',
  },
  renders_failing: {
    words: 'renders failing',
    advice:
      'Open an example page in a browser, and its render in the dashboard: it names the failed requests.',
    screen: '/renders',
  },
  blocked: {
    words: 'blocked by a bot challenge',
    advice:
      'Allow the user agent "Prepaint" or the addresses of your nodes in the bot protection of the site.',
    screen: '/renders',
  },
  pages_shrinking: {
    words: 'pages shrinking',
    advice: 'Compare an example page with its last good copy in the dashboard. Often an API behind it fails.',
    screen: '/renders',
  },
  certificate_failing: {
    words: 'certificate failing',
    advice: 'Check that the name still leads here and that its CAA records allow the certificate authority.',
    screen: '/settings',
  },
  dns_lost: {
    words: 'name leads elsewhere',
    advice: 'Compare the DNS records of the name with those that the dashboard shows.',
    screen: '',
  },
  quota_forecast: {
    words: 'quota used up before the month ends',
    advice: SMALLER_QUOTA,
    screen: '/traffic',
  },
  quota_reached: { words: 'quota reached', advice: SMALLER_QUOTA, screen: '/traffic' },
  crawlers_gone: {
    words: 'search crawlers gone',
    advice: 'Check robots.txt, and the reports of the search engines for this site.',
    screen: '/traffic',
  },
}

/** ISO 8601 in UTC, with milliseconds; `iso_time` of src/db/schema.sql. */
export const timeSchema = z.iso.datetime({ precision: 3 })

const changeSchema = z.object({
  what: z.enum(['deploy', 'settings', 'certificate', 'dns']),
  at: timeSchema,
})

/** As in the API and in events. */
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
      changes: z.array(changeSchema).describe('What changed in the day before'),
      level: z.int().nullable().describe('Of `quota_reached`: percent'),
      advice: z.string().describe('What to try first'),
      url: z.string().describe('The screen that shows it'),
    }),
  })
  .meta({ id: 'Incident' })

export type Incident = z.infer<typeof incidentSchema>
export type Evidence = Incident['evidence']
