import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from 'wouter'
import { reportQuery } from '../../api/notification-queries.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { domainPath } from '../../route-map.ts'

const number = (value: number) => value.toLocaleString('en-US')
const percent = (ratio: number | null) => (ratio === null ? '–' : `${Math.round(ratio * 100)}%`)

export default function ReportScreen() {
  const report = useQuery(reportQuery(new URLSearchParams(useSearch()).get('week')))
  return (
    <Page title="Weekly report" lead="Crawlers of one week, Monday to Sunday in UTC.">
      <Loaded query={report}>
        {({ week, from, to, ...found }) => (
          <>
            <Section title={`Week ${week}`} lead={`${from} to ${to}`}>
              <Facts
                rows={[
                  [
                    'Requests of crawlers',
                    `${number(found.visits)} (${number(found.visits_before)} the week before)`,
                  ],
                  ['Served from the cache', percent(found.hit_ratio)],
                  ['Renders', number(found.renders)],
                  [
                    'Most requests',
                    found.crawlers.map(({ crawler, visits }) => `${crawler} ${number(visits)}`).join(', ') ||
                      'none',
                  ],
                ]}
              />
            </Section>
            <div className="sheet sheet-flush">
              <DataTable
                rows={found.domains}
                keyOf={({ domain }) => domain}
                columns={[
                  {
                    title: 'Domain',
                    cell: ({ domain }) => (
                      <Anchor component={Link} href={domainPath('domain', domain)} size="sm">
                        {domain}
                      </Anchor>
                    ),
                  },
                  { title: 'Requests', kind: 'number', cell: ({ visits }) => number(visits) },
                  { title: 'Hits', kind: 'number', cell: ({ hit_ratio }) => percent(hit_ratio) },
                  { title: 'Renders', kind: 'number', cell: ({ renders }) => number(renders) },
                  { title: 'Pages failing', kind: 'number', cell: (each) => number(each.pages_failing) },
                  { title: 'Incidents', kind: 'number', cell: ({ incidents }) => number(incidents) },
                  { title: 'Deploys', kind: 'number', cell: ({ deploys }) => number(deploys) },
                ]}
              />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}
