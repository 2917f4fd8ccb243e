/** One open incident for each kind and domain. Most specific first; also in `expect_recipient` of src/db/schema.sql. */
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

/** For subjects and lists, after the domain's name. */
export const KIND_WORDS: Record<IncidentKind, string> = {
  origin_unreachable: 'origin unreachable',
  renders_failing: 'renders failing',
  blocked: 'blocked by a bot challenge',
  pages_shrinking: 'pages shrinking',
  certificate_failing: 'certificate failing',
  dns_lost: 'name leads elsewhere',
  quota_forecast: 'quota used up before the month ends',
  quota_reached: 'quota reached',
  crawlers_gone: 'search crawlers gone',
}

export type Evidence = {
  count: number
  pages: { path: string; outcome: string; detail: string | null; at: string }[]
  changes: { what: 'deploy' | 'settings' | 'certificate' | 'dns'; at: string }[]
  /** Of `quota_reached`: percent. */
  level: number | null
  advice: string
  url: string
}

/** As in the API and in events. Times are ISO 8601 UTC with milliseconds. */
export type Incident = {
  id: number
  domain: string
  kind: IncidentKind
  state: 'open' | 'resolved'
  since: string
  opened_at: string
  resolved_at: string | null
  resolution: string | null
  summary: string
  evidence: Evidence
}
