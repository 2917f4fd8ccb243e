import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from 'wouter'
import { reportQuery } from '../../api/notification-queries.ts'
import { count, percent } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { domainPath } from '../../route-map.ts'

export default function ReportScreen() {
  const report = useQuery(reportQuery(new URLSearchParams(useSearch()).get('week')))
  return (
    <Page title="Weekly report" lead="Crawlers of one week, Monday to Sunday in UTC.">
      <Loaded query={report}>
        {({ week, from, to, visits, visits_before: before, hit_ratio, renders, crawlers, domains }) => (
          <>
            <Section title={`Week ${week}`} lead={`${from} to ${to}`}>
              <Facts
                rows={[
                  ['Requests of crawlers', `${count(visits)} (${count(before)} the week before)`],
                  ['Served from the cache', percent(hit_ratio)],
                  ['Renders', count(renders)],
                  [
                    'Most requests',
                    crawlers.map((c) => `${c.crawler} ${count(c.visits)}`).join(', ') || 'none',
                  ],
                ]}
              />
            </Section>
            <div className="sheet sheet-flush">
              <DataTable
                rows={domains}
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
                  { title: 'Requests', kind: 'number', cell: (each) => count(each.visits) },
                  { title: 'Hits', kind: 'number', cell: (each) => percent(each.hit_ratio) },
                  { title: 'Renders', kind: 'number', cell: (each) => count(each.renders) },
                  { title: 'Pages failing', kind: 'number', cell: (each) => count(each.pages_failing) },
                  { title: 'Incidents', kind: 'number', cell: (each) => count(each.incidents) },
                  { title: 'Deploys', kind: 'number', cell: (each) => count(each.deploys) },
                ]}
              />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}
