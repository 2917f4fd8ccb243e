import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { complianceQuery, type Period } from '../../api/traffic-queries.ts'
import { categoryLabel } from '../../crawler-categories.ts'
import { count, counted } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'

export function ComplianceTable({ domain, period }: { domain: string; period: Period }) {
  const crawlers = useQuery(complianceQuery(domain, period))
  return (
    <Section
      title="Against robots.txt"
      lead="Crawlers that requested paths which robots.txt forbade them at the time, in whole days (UTC). Those that do not identify themselves count as people."
    >
      <Loaded query={crawlers}>
        {(all) => (
          <>
            <DataTable
              rows={all.filter(({ forbidden }) => forbidden > 0)}
              empty={
                <Note size="sm">None of {counted(all.length, 'crawler')} requested a forbidden path.</Note>
              }
              keyOf={({ name, category, purpose }) => `${name} ${category} ${purpose}`}
              columns={[
                { title: 'Crawler', cell: ({ name }) => <Text size="sm">{name}</Text> },
                { title: 'Category', kind: 'labelled', cell: purposeLabel },
                { title: 'Forbidden', kind: 'number', cell: ({ forbidden }) => count(forbidden) },
                { title: 'All visits', kind: 'number', cell: ({ visits }) => count(visits) },
                {
                  title: 'Forbidden paths, for example',
                  kind: 'labelled',
                  cell: ({ paths }) => <span className="break">{paths.join(', ')}</span>,
                },
              ]}
            />
            {all.some(({ forbidden }) => forbidden > 0) && (
              <Note mt="xs">Crawlers may use a robots.txt for a day before they read it again.</Note>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function purposeLabel({ category, purpose }: { category: string; purpose: string | null }): string {
  return categoryLabel(purpose === null ? category : `ai-${purpose}`)
}
