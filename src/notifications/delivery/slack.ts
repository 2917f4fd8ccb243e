import { type Incident, KINDS } from '../kinds.ts'

/** One message for people, from an event's body. The same body gives the same text. */
export function slackText(body: string): string {
  const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> }
  return textOf(type, data).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function textOf(type: string, data: Record<string, unknown>): string {
  const { domain, ends_at: ends, pages, rendered, unchanged, failed } = data
  switch (type) {
    case 'incident.opened':
    case 'incident.updated':
    case 'incident.resolved': {
      const { domain: name, kind, summary, evidence } = data['incident'] as Incident
      if (type === 'incident.resolved') return `Resolved: ${name}: ${KINDS[kind].words}.`
      return `${name}: ${KINDS[kind].words}. ${summary} ${evidence.advice} ${evidence.url}`
    }
    case 'domain.live':
      return `${domain} is live.`
    case 'domain.certificate_issued':
      return `${domain} has a new certificate until ${String(ends).slice(0, 10)}.`
    case 'deploy.detected':
      return `${domain} was deployed: ${pages} pages are rendered again when crawlers request them.`
    case 'warm.finished':
      return `Warm of ${domain} finished: ${rendered} rendered, ${unchanged} of them unchanged, ${failed} failed.`
    case 'report.weekly':
      return `Your weekly report ${(data['report'] as { week: string }).week} is ready.`
    default:
      return 'Test from Prepaint: this endpoint works.'
  }
}
