import type { z } from 'zod'
import type { reportSchema } from '../api/notifications.ts'

type Report = z.infer<typeof reportSchema>

// What letter and screen tell of a week.

const count = (value: number) => value.toLocaleString('en')
const percent = (share: number | null) => (share === null ? '–' : `${Math.round(share * 100)} %`)

export function reportFacts(report: Report): [title: string, text: string][] {
  const most = report.crawlers.map(({ crawler, visits }) => `${crawler} ${count(visits)}`)
  return [
    ['Requests of crawlers', `${count(report.visits)} (${count(report.visits_before)} the week before)`],
    ['Served from the cache', percent(report.hit_ratio)],
    ['Renders', count(report.renders)],
    ['Most requests', most.join(', ') || 'none'],
  ]
}

/** The figures of one domain. */
export const REPORT_FIGURES: { title: string; of(domain: Report['domains'][number]): string }[] = [
  { title: 'Requests', of: ({ visits }) => count(visits) },
  { title: 'Hits', of: (domain) => percent(domain.hit_ratio) },
  { title: 'Renders', of: ({ renders }) => count(renders) },
  { title: 'Pages failing', of: (domain) => count(domain.pages_failing) },
  { title: 'Incidents', of: ({ incidents }) => count(incidents) },
  { title: 'Deploys', of: ({ deploys }) => count(deploys) },
]
