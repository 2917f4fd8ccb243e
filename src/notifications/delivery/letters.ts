import { type Block, compose, type Letter } from '../../mail/letter.ts'
import { plainText } from '../../outbound/answers.ts'
import type { Incident } from '../incidents/incidents.ts'
import { KINDS } from '../kinds.ts'
import type { Report } from './report.ts'

/** An event: its type, and of its data what e-mails tell. */
type Entry = { type: string; incident: Incident; report: Report; url: string }

type Links = { publicUrl: string; confirm: string; unsubscribe: string }

/** One e-mail for events with these bodies; several are of incidents. */
export function letterOf(bodies: readonly string[], { publicUrl, confirm, unsubscribe }: Links): Letter {
  const entries = bodies.map((body) => {
    const { type, data } = JSON.parse(body) as { type: string; data: Omit<Entry, 'type'> }
    return { type, ...data }
  })
  const [{ type, report, url }] = entries as [Entry]
  const foot = [
    { text: 'Stop all e-mails to this address:', link: { url: unsubscribe, label: 'unsubscribe' } },
  ]
  switch (type) {
    case 'mail.confirmation':
      return compose('Confirm your address for Prepaint', [confirmation(confirm)], foot)
    case 'mail.switched_off':
      return compose(OFF, [switchedOff(url, `${publicUrl}/notifications`)], foot)
    case 'report.weekly':
      return compose(`Your weekly report ${report.week}`, [weekly(report, publicUrl)], foot)
    default:
      return ofIncidents(entries, foot)
  }
}

const clean = (text: string) => (text.length > 200 ? `${plainText(text, 199)}…` : plainText(text, 200))
const utc = (iso: string) => `${iso.slice(0, 16).replace('T', ' ')} UTC`

function confirmation(url: string): Block {
  const lines = [
    'This address was entered to receive e-mail from Prepaint when something is wrong with a site. Confirm that it is yours.',
    'The link works once, for 7 days. If you did not expect it, ignore this e-mail: you get no others.',
  ]
  return { heading: 'Confirm your address', lines, link: { url, label: 'Confirm this address' } }
}

const OFF = 'An event endpoint is switched off'

function switchedOff(endpointUrl: string, screen: string): Block {
  const lines = [
    `Events could not be delivered to ${clean(endpointUrl)}. It answered with status 410, or not once in three days.`,
    'What was waiting is cancelled. Switch it on again when it works.',
  ]
  return { heading: OFF, tone: 'bad', lines, link: { url: screen, label: 'Show the deliveries' } }
}

function weekly(report: Report, publicUrl: string): Block {
  const hits = (ratio: number | null) => (ratio === null ? 'no hits' : `${Math.round(ratio * 100)} % hits`)
  const number = (value: number) => value.toLocaleString('en-US')
  const many = (count: number, word: string) => `${number(count)} ${word}${count === 1 ? '' : 's'}`
  const most = report.crawlers.slice(0, 5).map(({ crawler, visits }) => `${crawler} ${number(visits)}`)
  const domains = report.domains.slice(0, 20).map((each) => {
    const traffic = `${many(each.visits, 'request')}, ${hits(each.hit_ratio)}, ${many(each.renders, 'render')}`
    const trouble = `${many(each.pages_failing, 'failing page')}, ${many(each.incidents, 'incident')}, ${many(each.deploys, 'deploy')}`
    return `– ${each.domain}: ${traffic}, ${trouble}`
  })
  const lines = [
    `${number(report.visits)} requests of crawlers (${number(report.visits_before)} the week before), ${hits(report.hit_ratio)}, ${number(report.renders)} renders.`,
    `Most: ${most.join(', ')}.`,
    ...domains,
  ]
  const heading = `Week ${report.week}: ${report.from} to ${report.to}`
  return {
    heading,
    lines,
    link: { url: `${publicUrl}/report?week=${report.week}`, label: 'Open the report' },
  }
}

/** Opened, changed, ended, or still open; of one incident the last entry counts. */
function ofIncidents(entries: readonly Entry[], foot: Parameters<typeof compose>[2]): Letter {
  const last = [...new Map(entries.map((entry) => [entry.incident.id, entry])).values()]
  const domains = new Set(last.map(({ incident }) => incident.domain)).size
  const [{ type, incident }] = last as [Entry]
  const subject =
    last.length === 1
      ? `${incident.domain}: ${KINDS[incident.kind].words}${type === 'incident.resolved' ? ' (resolved)' : ''}`
      : `${last.length} incidents on ${domains} ${domains === 1 ? 'domain' : 'domains'}`
  return compose(subject, last.map(incidentBlock), foot)
}

const STATES: Record<string, string> = {
  'incident.updated': 'Changed',
  'mail.reminder': 'Still open',
  'incident.resolved': 'Resolved',
}

function incidentBlock({ type, incident }: Entry): Block {
  const { domain, kind, since, resolved_at: ended, summary, evidence } = incident
  const heading = `${STATES[type] ?? 'New'}: ${domain}: ${KINDS[kind].words}`
  const link = { url: evidence.url, label: 'Open the dashboard' }
  if (type === 'incident.resolved') {
    const lines = [`It began at ${utc(since)} and ended at ${utc(ended ?? since)}.`]
    return { heading, tone: 'good', lines, link }
  }
  const pages = evidence.pages.map(
    ({ path, outcome, detail }) => `– ${clean(path)}: ${outcome}${detail ? ` (${clean(detail)})` : ''}`,
  )
  const changes = evidence.changes.map(({ what, at }) => `${what} at ${utc(at)}`)
  const changed = changes.length === 0 ? [] : [`Changed before: ${changes.join(', ')}.`]
  const first = [clean(summary), `Since ${utc(since)}.`]
  const lines = [...first, ...pages, ...changed, `Try first: ${evidence.advice}`]
  return { heading, tone: 'bad', lines, link }
}

/** One message of Slack, from an event's body. The same body gives the same text. */
export function slackText(body: string): string {
  const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> }
  return slackWords(type, data).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function slackWords(type: string, data: Record<string, unknown>): string {
  const { domain, ends_at: ends, pages, rendered, unchanged, failed } = data
  const { incident, report } = data as Entry
  switch (type) {
    case 'incident.resolved':
      return `Resolved: ${incident.domain}: ${KINDS[incident.kind].words}.`
    case 'incident.opened':
    case 'incident.updated': {
      const { summary, kind, evidence } = incident
      return `${incident.domain}: ${KINDS[kind].words}. ${summary} ${evidence.advice} ${evidence.url}`
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
      return `Your weekly report ${report.week} is ready.`
    default:
      return 'Test from Prepaint: this endpoint works.'
  }
}
