import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'

import { fleetFailuresQuery } from '../../api/queries.ts'
import type { FleetFailures } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

/** What happened, for outcomes that come without a reason. */
const OUTCOME_REASONS: Record<string, string> = {
  aborted: 'Stopped (the browser was closed)',
  blank: 'The page stayed empty',
}

export default function Failures() {
  const failures = useQuery(fleetFailuresQuery)
  return (
    <Page
      title="Failures"
      lead="Failed renders of all accounts, with their reasons. The content of pages and their query strings are never shown."
    >
      <Loaded query={failures}>{(data) => <FailureLists failures={data} />}</Loaded>
    </Page>
  )
}

function FailureLists({ failures: { since, renders, failed, groups, last } }: { failures: FleetFailures }) {
  if (failed === 0) {
    return (
      <div className="sheet">
        <Empty title="No failures">
          {renders === 0
            ? 'Nothing was rendered in the last week. Failed renders are listed here, by outcome and domain.'
            : `All of the last ${counted(renders, 'render')} succeeded. Failed renders are listed here.`}
        </Empty>
      </div>
    )
  }
  return (
    <Stack gap="lg">
      <Text>
        <b className="number">{count(failed)}</b> of the last <b className="number">{count(renders)}</b>{' '}
        renders failed; the oldest of them was <TimeText at={since} />.
      </Text>
      <Section title="By outcome and domain" lead="The most frequent first.">
        <DataTable
          rows={groups}
          keyOf={({ outcome, domain }) => `${outcome} ${domain}`}
          columns={[
            { title: 'Outcome', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
            {
              title: 'Domain',
              cell: ({ domain, account }) => (
                <>
                  <Text size="sm" className="break">
                    {domain}
                  </Text>
                  <Note>{account}</Note>
                </>
              ),
            },
            { title: 'Renders', kind: 'number', cell: ({ failed: renders }) => count(renders) },
            { title: 'Last', kind: 'labelled', cell: ({ last_at }) => <TimeText at={last_at} /> },
          ]}
        />
      </Section>
      <Section title="Latest failures">
        <DataTable
          rows={last}
          keyOf={({ domain, path, ended_at }) => `${domain}${path}${ended_at}`}
          columns={[
            { title: 'Page', className: 'break', cell: ({ domain, path }) => `${domain}${path}` },
            { title: 'Outcome', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
            {
              title: 'Reason',
              className: 'break',
              kind: 'labelled',
              cell: ({ outcome, reason }) => reason ?? OUTCOME_REASONS[outcome] ?? '',
            },
            { title: 'Time', kind: 'labelled', cell: ({ ended_at }) => <TimeText at={ended_at} /> },
          ]}
        />
      </Section>
    </Stack>
  )
}
