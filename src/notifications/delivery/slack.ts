import { INCIDENT_KINDS, type Incident, KIND_WORDS } from '../kinds.ts'

/** One message for people, from an event's body. The same body gives the same text. */
export function slackText(body: string): string {
  const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> }
  return escaped(textOf(type, data))
}

function textOf(type: string, data: Record<string, unknown>): string {
  const domain = String(data['domain'] ?? '')
  switch (type) {
    case 'incident.opened':
    case 'incident.updated':
    case 'incident.resolved': {
      const { domain: name, kind, summary, evidence } = data['incident'] as Incident
      const words = INCIDENT_KINDS.includes(kind) ? KIND_WORDS[kind] : kind
      if (type === 'incident.resolved') return `Resolved: ${name}: ${words}.`
      return `${name}: ${words}. ${summary} ${evidence.advice} ${evidence.url}`
    }
    case 'domain.live':
      return `${domain} is live.`
    case 'domain.certificate_issued':
      return `${domain} has a new certificate until ${String(data['ends_at']).slice(0, 10)}.`
    case 'deploy.detected':
      return `${domain} was deployed: ${data['pages']} pages are rendered again when crawlers request them.`
    case 'warm.finished':
      return `Warm of ${domain} finished: ${data['rendered']} rendered, ${data['unchanged']} of them unchanged, ${data['failed']} failed.`
    case 'report.weekly':
      return `Your weekly report ${String((data['report'] as { week?: string })?.week)} is ready.`
    default:
      return 'Test from Prepaint: this endpoint works.'
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
