import { type Incident, KIND_WORDS } from '../kinds.ts'
import type { Report } from './report.ts'

export type Letter = { subject: string; text: string; html: string }

/** Opened, changed, ended, or still open. */
type Entry = { type: string; incident: Incident }

const TEXT_CHARS = 200

/** From a site: without control and direction characters, and cut. */
function clean(text: string): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, ' ')
  return plain.length > TEXT_CHARS ? `${plain.slice(0, TEXT_CHARS)}…`.toWellFormed() : plain
}

/** One e-mail for all entries; of one incident the last entry counts. */
export function incidentLetter(entries: readonly Entry[], unsubscribeUrl: string): Letter {
  const last = [...new Map(entries.map((entry) => [entry.incident.id, entry])).values()]
  const domains = new Set(last.map(({ incident }) => incident.domain))
  const [one] = last
  const subject =
    last.length === 1
      ? `${one!.incident.domain}: ${KIND_WORDS[one!.incident.kind]}${one!.type === 'incident.resolved' ? ' (resolved)' : ''}`
      : `${last.length} incidents on ${domains.size} ${domains.size === 1 ? 'domain' : 'domains'}`
  const blocks = last.map(({ type, incident }) => blockOf(type, incident))
  return composed(subject, blocks, unsubscribeUrl)
}

type Block = {
  heading: string
  tone: 'bad' | 'good' | 'plain'
  lines: string[]
  link: { url: string; label: string } | null
}

const STATES: Record<string, string> = {
  'incident.opened': 'New',
  'incident.updated': 'Changed',
  'mail.reminder': 'Still open',
  'incident.resolved': 'Resolved',
}

function blockOf(type: string, { domain, kind, since, resolved_at, summary, evidence }: Incident): Block {
  const heading = `${STATES[type] ?? 'New'}: ${domain}: ${KIND_WORDS[kind]}`
  if (type === 'incident.resolved') {
    const lines = [`It began at ${utc(since)} and ended at ${utc(resolved_at ?? since)}.`]
    return { heading, tone: 'good', lines, link: { url: evidence.url, label: 'Open the dashboard' } }
  }
  const pages = evidence.pages.map(
    ({ path, outcome, detail }) =>
      `${clean(path)}: ${outcome}${detail === null || detail === '' ? '' : ` (${clean(detail)})`}`,
  )
  const changes = evidence.changes.map(({ what, at }) => `${what} at ${utc(at)}`)
  return {
    heading,
    tone: 'bad',
    lines: [
      clean(summary),
      `Since ${utc(since)}.`,
      ...pages.map((page) => `– ${page}`),
      ...(changes.length > 0 ? [`Changed before: ${changes.join(', ')}.`] : []),
      `Try first: ${evidence.advice}`,
    ],
    link: { url: evidence.url, label: 'Open the dashboard' },
  }
}

export function confirmationLetter(url: string, unsubscribeUrl: string): Letter {
  const lines = [
    'This address was entered to receive e-mail from Prepaint when something is wrong with a site. Confirm that it is yours:',
  ]
  const link = { url, label: 'Confirm this address' }
  const last =
    'The link works once, for 7 days. If you did not expect it, ignore this e-mail: you get no others.'
  const heading = 'Confirm your address'
  return composed(
    'Confirm your address for Prepaint',
    [{ heading, tone: 'plain', lines: [...lines, last], link }],
    unsubscribeUrl,
  )
}

export function switchedOffLetter(endpointUrl: string, screen: string, unsubscribeUrl: string): Letter {
  const lines = [
    `Events could not be delivered to ${clean(endpointUrl)}. It answered with status 410, or not once in three days.`,
    'What was waiting is cancelled. Switch it on again when it works.',
  ]
  const link = { url: screen, label: 'Show the deliveries' }
  const heading = 'An event endpoint is switched off'
  return composed(heading, [{ heading, tone: 'bad', lines, link }], unsubscribeUrl)
}

export function reportLetter(report: Report, screen: string, unsubscribeUrl: string): Letter {
  const hits = report.hit_ratio === null ? 'no hits' : `${Math.round(report.hit_ratio * 100)} % hits`
  const lines = [
    `${number(report.visits)} requests of crawlers (${number(report.visits_before)} the week before), ${hits}, ${number(report.renders)} renders.`,
    `Most: ${report.crawlers
      .slice(0, 5)
      .map(({ crawler, visits }) => `${crawler} ${number(visits)}`)
      .join(', ')}.`,
    ...report.domains
      .slice(0, 20)
      .map(
        (each) =>
          `– ${each.domain}: ${number(each.visits)} requests, ${each.hit_ratio === null ? '–' : `${Math.round(each.hit_ratio * 100)} %`} hits, ` +
          `${number(each.renders)} renders, ${each.pages_failing} pages failing, ${each.incidents} incidents, ${each.deploys} deploys`,
      ),
  ]
  const heading = `Week ${report.week}: ${report.from} to ${report.to}`
  return composed(
    `Your weekly report ${report.week}`,
    [{ heading, tone: 'plain', lines, link: { url: screen, label: 'Open the report' } }],
    unsubscribeUrl,
  )
}

function composed(subject: string, blocks: readonly Block[], unsubscribeUrl: string): Letter {
  const foot = 'Stop all e-mails to this address:'
  const text = [
    ...blocks.flatMap(({ heading, lines, link }) => [
      heading,
      '',
      ...lines,
      ...(link ? ['', link.url] : []),
      '',
    ]),
    '--',
    `${foot} ${unsubscribeUrl}`,
    '',
  ].join('\n')
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font:16px/1.5 sans-serif;color:#17211f;background:#fff;max-width:36em;margin:2em auto;padding:0 1em">
${blocks.map(htmlOf).join('\n')}
<p style="font-size:13px;color:#56625f;border-top:1px solid #d5dcda;padding-top:12px;margin-top:28px">${foot} <a href="${escaped(unsubscribeUrl)}" style="color:#56625f">unsubscribe</a></p>
</body></html>
`
  return { subject, text, html }
}

const COLOURS = { bad: '#b3261e', good: '#0f6d5e', plain: '#17211f' }

function htmlOf({ heading, tone, lines, link }: Block): string {
  const paragraphs = lines
    .map((line) => `<p style="margin:6px 0;overflow-wrap:anywhere">${escaped(line)}</p>`)
    .join('\n')
  const button =
    link === null
      ? ''
      : `<p style="margin:14px 0"><a href="${escaped(link.url)}" style="background:#0f6d5e;border-radius:6px;color:#fff;display:inline-block;padding:9px 16px;text-decoration:none">${escaped(link.label)}</a></p>`
  return `<h2 style="font-size:18px;margin:24px 0 8px;color:${COLOURS[tone]};overflow-wrap:anywhere">${escaped(heading)}</h2>
${paragraphs}
${button}`
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

function utc(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}
