import { Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { fleetFailuresQuery } from '../../api/queries.ts'
import type { FleetFailures } from '../../api/types.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count, counted } from '../../parts/usage-bar.tsx'
import { OnlyOperators } from './only-operators.tsx'

export function Failures() {
  return (
    <OnlyOperators>
      <FailuresNow />
    </OnlyOperators>
  )
}

function FailuresNow() {
  const failures = useQuery(fleetFailuresQuery)
  return (
    <Page
      title="Failures"
      lead="Renders of all accounts that came to nothing. Why, and where; never what a page holds, nor what stands behind the ? of its address."
    >
      {failures.data === undefined ? (
        failures.error === null ? (
          <Loading />
        ) : (
          <Trouble error={failures.error} onRetry={() => failures.refetch()} />
        )
      ) : (
        <Found failures={failures.data} />
      )}
    </Page>
  )
}

function Found({ failures: { since, renders, failed, groups, last } }: { failures: FleetFailures }) {
  if (failed === 0) {
    return (
      <div className="sheet">
        <Empty title="Nothing failed">
          {renders === 0
            ? 'Nothing was rendered in the last week.'
            : `All of the last ${counted(renders, 'render')} went well.`}
        </Empty>
      </div>
    )
  }
  return (
    <Stack gap="lg">
      <Text>
        <b className="number">{count(failed)}</b> of the last <b className="number">{count(renders)}</b>{' '}
        renders; the oldest of them was <TimeText at={since} />.
      </Text>
      <Section title="By outcome and domain" lead="The most frequent first.">
        <Table verticalSpacing="xs" horizontalSpacing="md" fz="sm" className="stacking">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Outcome</Table.Th>
              <Table.Th>Domain</Table.Th>
              <Table.Th className="end">Renders</Table.Th>
              <Table.Th>Last</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {groups.map((group) => (
              <Table.Tr key={`${group.outcome} ${group.domain}`}>
                <Table.Td>
                  <OutcomeBadge outcome={group.outcome} />
                </Table.Td>
                <Table.Td>
                  <Text size="sm" className="break">
                    {group.domain}
                  </Text>
                  <Text size="xs" className="quiet break">
                    {group.account}
                  </Text>
                </Table.Td>
                <Table.Td className="number end" data-label="Renders">
                  {count(group.failed)}
                </Table.Td>
                <Table.Td data-label="Last">
                  <TimeText at={group.last_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Section>
      <Section title="The last ones">
        <Table verticalSpacing="xs" horizontalSpacing="md" fz="sm" className="stacking">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Page</Table.Th>
              <Table.Th>Outcome</Table.Th>
              <Table.Th>Why</Table.Th>
              <Table.Th>When</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {last.map((render) => (
              <Table.Tr key={`${render.domain}${render.path}${render.ended_at}`}>
                <Table.Td className="break">
                  {render.domain}
                  {render.path}
                </Table.Td>
                <Table.Td>
                  <OutcomeBadge outcome={render.outcome} />
                </Table.Td>
                <Table.Td className="break" data-label="Why">
                  {render.reason ?? <span className="quiet">as the outcome says</span>}
                </Table.Td>
                <Table.Td data-label="When">
                  <TimeText at={render.ended_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Section>
    </Stack>
  )
}
