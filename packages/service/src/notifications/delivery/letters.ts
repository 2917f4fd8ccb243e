import { KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { differenceWords, monthName, percentWords } from '@prepaint/contract/notifications/monthly-words.ts'
import { REPORT_FIGURES, reportFacts } from '@prepaint/contract/notifications/report-words.ts'
import { plainText } from '@prepaint/outbound'
import { type Block, type Brand, compose, type Letter } from '../../mail/letter.ts'
import type { Incident } from '../incidents/incidents.ts'
import { MONTHLY_REPORT } from './addresses.ts'
import type { MonthInLetter } from './monthly-letters.ts'
import type { Report } from './report.ts'

/** The links of an e-mail. Without a public URL, links to screens are left out. `product`: what sends it, by its name. */
type Links = { publicUrl?: string; confirm?: string; product?: string }

type Event = {
  type: string
  data: {
    incident: Incident
    report: Report
    month: MonthInLetter
    url: string
    domain: string
    ends_at: string
  } & Record<'pages' | 'rendered' | 'unchanged' | 'failed' | 'not_rendered', number>
}

/** One e-mail for events with these bodies; several are of incidents, and of one incident the last counts. */
export function letterOf(
  bodies: readonly string[],
  links: Links & { unsubscribe: string },
  brand: Brand | null = null,
): Letter {
  const events = bodies.map((body) => JSON.parse(body) as Event)
  const last = [...new Map(events.map((event) => [event.data.incident?.id, event])).values()]
  const product = brand === null || brand.showPrepaint ? 'Prepaint' : brand.name
  const blocks = last.map((event) => tell(event, { ...links, product }))
  const domains = new Set(last.map(({ data }) => data.incident?.domain)).size
  const several = `${last.length} incidents on ${domains} ${domains === 1 ? 'domain' : 'domains'}`
  const [{ heading, subject = heading }] = blocks as [Told]
  const unsubscribe = { url: links.unsubscribe, label: 'unsubscribe' }
  const foot = [{ text: 'Stop all e-mails to this address:', link: unsubscribe }]
  return compose(last.length === 1 ? subject : several, blocks, foot, brand)
}

/** The incident that all of these events are about; null: they are about none, or about several. */
export function onlyIncidentOf(bodies: readonly string[]): number | null {
  const ids = new Set(bodies.map((body) => (JSON.parse(body) as Event).data.incident?.id ?? null))
  const [only = null] = ids
  return ids.size === 1 ? only : null
}

/** One message of Slack, from an event's body. The same body gives the same text. */
export function slackText(body: string): string {
  const { heading, lines = [], link } = tell(JSON.parse(body) as Event, {})
  const said = [heading, ...lines]
  if (link !== undefined) said.push(link.url)
  const text = said.join('\n')
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

type Told = Block & { heading: string; subject?: string }

const STATES: Record<string, string> = {
  'incident.opened': 'New',
  'incident.updated': 'Changed',
  'mail.reminder': 'Still open',
  'incident.resolved': 'Resolved',
}

function tell({ type, data }: Event, { publicUrl, confirm = '', product = 'Prepaint' }: Links): Told {
  const { incident, report, url, domain } = data
  const linkTo = (path: string, label: string) =>
    publicUrl === undefined ? undefined : { url: publicUrl + path, label }
  switch (type) {
    case 'mail.confirmation':
      return {
        heading: `Confirm your address for ${product}`,
        lines: [
          `This address was entered to receive e-mail from ${product} when something is wrong with a site. Confirm that it is yours.`,
          'The link works once, for 7 days. If you did not expect it, ignore this e-mail: you get no others.',
        ],
        link: { url: confirm, label: 'Confirm this address' },
      }
    case 'mail.switched_off':
      return {
        heading: 'An event endpoint is switched off',
        tone: 'bad',
        lines: [
          `Events could not be delivered to ${clean(url)}. It answered with status 410, or not once in three days.`,
          'What was waiting is cancelled. Switch it on again when it works.',
        ],
        link: linkTo('/notifications', 'Show the deliveries'),
      }
    case 'report.weekly':
      return {
        heading: `Your weekly report ${report.week}`,
        lines: [
          `${report.from} to ${report.to}.`,
          ...reportFacts(report).map(([title, text]) => `${title}: ${text}.`),
          ...report.domains.slice(0, 20).map((each) => {
            const figures = REPORT_FIGURES.map(({ title, of }) => `${title.toLowerCase()} ${of(each)}`)
            return `– ${each.domain}: ${figures.join(', ')}`
          }),
        ],
        link: linkTo(`/report?week=${report.week}`, 'Open the report'),
      }
    case MONTHLY_REPORT:
      return tellMonth(data.month, linkTo)
    case 'domain.live':
      return { heading: `${domain} is live.` }
    case 'domain.certificate_issued':
      return { heading: `${domain} has a new certificate until ${data.ends_at.slice(0, 10)}.` }
    case 'deploy.detected':
      return {
        heading: `${domain} was deployed: ${data.pages} pages are rendered again when crawlers request them.`,
      }
    case 'warm.finished': {
      const missing =
        // Nodes of 0.2.0 leave it out.
        !data.not_rendered
          ? ''
          : ` ${data.not_rendered} were not rendered, because the renders of this month are used up.`
      return {
        heading: `Warm of ${domain} finished: ${data.rendered} rendered, ${data.unchanged} of them unchanged, ${data.failed} failed.${missing}`,
      }
    }
    case 'endpoint.test':
      return { heading: 'Test from Prepaint: this endpoint works.' }
    default: {
      const isResolved = type === 'incident.resolved'
      const name = `${incident.domain}: ${KINDS[incident.kind].words}`
      return {
        subject: `[${isResolved ? 'Resolved' : 'Open'}] ${name}`,
        heading: `${STATES[type]}: ${name}`,
        tone: isResolved ? 'good' : 'bad',
        lines: isResolved ? [`${utc(incident.since)} to ${utc(incident.resolved_at!)}.`] : linesOf(incident),
        link: { url: incident.evidence.url, label: 'Open the dashboard' },
      }
    }
  }
}

type LinkTo = (path: string, label: string) => { url: string; label: string } | undefined

function tellMonth({ month, summary, domains, others, limited }: MonthInLetter, linkTo: LinkTo): Told {
  const [first] = domains
  const what = domains.length === 1 && others === 0 ? `${first!.domain}: ` : ''
  const lines = [summary]
  if (others > 0) lines.push(`The ${domains.length} sites with most visits, of ${domains.length + others}:`)
  const query = limited === null ? '' : `?domains=${limited.map(encodeURIComponent).join(',')}`
  return {
    heading: `${what}Report of ${monthName(month)}`,
    lines,
    table: {
      head: ['Site', 'Visits', 'Month before', 'From the cache', 'Failed', 'Incidents'],
      rows: domains.map(({ domain, visits, before, hit_ratio: hitRatio, failed, incidents }) => {
        const difference = differenceWords(visits, before)
        return [
          domain,
          difference === null ? count(visits) : `${count(visits)} (${difference})`,
          count(before),
          percentWords(hitRatio),
          count(failed),
          count(incidents),
        ]
      }),
    },
    link: linkTo(`/reports/${month}${query}`, 'Open the report'),
  }
}

function linesOf({ since, summary, evidence }: Incident): string[] {
  const pages = evidence.pages.map(
    ({ path, outcome, detail }) => `– ${clean(path)}: ${outcome}${detail ? ` (${clean(detail)})` : ''}`,
  )
  const changes = evidence.changes.map(({ what, at }) => `Changed before: ${what} at ${utc(at)}.`)
  return [clean(summary), `Since ${utc(since)}.`, ...pages, ...changes, `What to do: ${evidence.advice}`]
}

const clean = (text: string) => (text.length > 200 ? `${plainText(text, 199)}…` : plainText(text, 200))
const count = (value: number) => value.toLocaleString('en')
const utc = (iso: string) => `${iso.slice(0, 16).replace('T', ' ')} UTC`
