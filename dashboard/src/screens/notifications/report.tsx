import { Anchor } from '@mantine/core'
import { REPORT_FIGURES, reportFacts } from '@prepaint/contract/notifications/report-words.ts'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from 'wouter'
import { reportQuery } from '../../api/notification-queries.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { domainPath } from '../../route-map.ts'

export default function ReportScreen() {
  const query = useQuery(reportQuery(new URLSearchParams(useSearch()).get('week')))
  return (
    <Page title="Weekly report" lead="Crawlers of one week, Monday to Sunday in UTC.">
      <Loaded query={query}>
        {(report) => (
          <>
            <Section title={`Week ${report.week}`} lead={`${report.from} to ${report.to}`}>
              <Facts rows={reportFacts(report)} />
            </Section>
            <div className="sheet sheet-flush">
              <DataTable
                rows={report.domains}
                keyOf={({ domain }) => domain}
                columns={[
                  {
                    title: 'Domain',
                    className: 'site-name',
                    cell: ({ domain }) => (
                      <Anchor component={Link} href={domainPath('domain', domain)} size="sm">
                        {domain}
                      </Anchor>
                    ),
                  },
                  ...REPORT_FIGURES.map(({ title, of }) => ({ title, kind: 'number' as const, cell: of })),
                ]}
              />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}
