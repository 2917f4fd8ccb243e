import { type Block, compose, type Letter } from '../../mail/letter.ts'
import { plainText } from '../../outbound/answers.ts'
import { type Incident, KINDS } from '../kinds.ts'
import type { Report } from './report.ts'

/** Opened, changed, ended, or still open. */
type Entry = { type: string; incident: Incident }

const clean = (text: string) => (text.length > 200 ? `${plainText(text, 199)}…` : plainText(text, 200))

const stop = (url: string) => [
  { text: 'Stop all e-mails to this address:', link: { url, label: 'unsubscribe' } },
]

/** One e-mail for all entries; of one incident the last entry counts. */
export function incidentLetter(entries: readonly Entry[], unsubscribeUrl: string): Letter {
  const last = [...new Map(entries.map((entry) => [entry.incident.id, entry])).values()]
  const domains = new Set(last.map(({ incident }) => incident.domain)).size
  const [{ type, incident }] = last as [Entry]
  const subject =
    last.length === 1
      ? `${incident.domain}: ${KINDS[incident.kind].words}${type === 'incident.resolved' ? ' (resolved)' : ''}`
      : `${last.length} incidents on ${domains} ${domains === 1 ? 'domain' : 'domains'}`
  return compose(subject, last.map(blockOf), stop(unsubscribeUrl))
}

const STATES: Record<string, string> = {
  'incident.updated': 'Changed',
  'mail.reminder': 'Still open',
  'incident.resolved': 'Resolved',
}

function blockOf({ type, incident }: Entry): Block {
  const { domain, kind, since, resolved_at: ended, summary, evidence } = incident
  const heading = `${STATES[type] ?? 'New'}: ${domain}: ${KINDS[kind].words}`
  const link = { url: evidence.url, label: 'Open the dashboard' }
  if (type === 'incident.resolved') {
    return {
      ...{ heading, tone: 'good', link },
      lines: [`It began at ${utc(since)} and ended at ${utc(ended ?? since)}.`],
    }
  }
  const pages = evidence.pages.map(
    ({ path, outcome, detail }) => `– ${clean(path)}: ${outcome}${detail ? ` (${clean(detail)})` : ''}`,
  )
  const changes = evidence.changes.map(({ what, at }) => `${what} at ${utc(at)}`)
  const changed = changes.length === 0 ? [] : [`Changed before: ${changes.join(', ')}.`]
  const lines = [
    clean(summary),
    `Since ${utc(since)}.`,
    ...pages,
    ...changed,
    `Try first: ${evidence.advice}`,
  ]
  return { heading, tone: 'bad', lines, link }
}

export function confirmationLetter(url: string, unsubscribeUrl: string): Letter {
  const lines = [
    'This address was entered to receive e-mail from Prepaint when something is wrong with a site. Confirm that it is yours.',
    'The link works once, for 7 days. If you did not expect it, ignore this e-mail: you get no others.',
  ]
  const block = { heading: 'Confirm your address', lines, link: { url, label: 'Confirm this address' } }
  return compose('Confirm your address for Prepaint', [block], stop(unsubscribeUrl))
}

export function switchedOffLetter(endpointUrl: string, screen: string, unsubscribeUrl: string): Letter {
  const heading = 'An event endpoint is switched off'
  const lines = [
    `Events could not be delivered to ${clean(endpointUrl)}. It answered with status 410, or not once in three days.`,
    'What was waiting is cancelled. Switch it on again when it works.',
  ]
  const link = { url: screen, label: 'Show the deliveries' }
  return compose(heading, [{ heading, tone: 'bad', lines, link }], stop(unsubscribeUrl))
}

export function reportLetter(report: Report, screen: string, unsubscribeUrl: string): Letter {
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
  const block = { heading, lines, link: { url: screen, label: 'Open the report' } }
  return compose(`Your weekly report ${report.week}`, [block], stop(unsubscribeUrl))
}

function utc(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}
