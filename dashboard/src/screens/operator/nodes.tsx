import { Badge, Group, Progress, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { fleetQuery } from '../../api/queries.ts'
import type { Fleet } from '../../api/types.ts'
import { bytes } from '../../parts/duration.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { counted } from '../../parts/usage-bar.tsx'
import { OnlyOperators } from './only-operators.tsx'

type FleetNode = Fleet['nodes'][number]

export function Nodes() {
  return (
    <OnlyOperators>
      <NodeList />
    </OnlyOperators>
  )
}

function NodeList() {
  const fleet = useQuery(fleetQuery)
  return (
    <Page
      title="Nodes"
      lead="The processes that share this database, with their browsers. Each says every five seconds that it lives."
    >
      {fleet.data === undefined ? (
        fleet.error === null ? (
          <Loading />
        ) : (
          <Trouble error={fleet.error} onRetry={() => fleet.refetch()} />
        )
      ) : fleet.data.nodes.length === 0 ? (
        <div className="sheet">
          <Empty title="No node has been heard of">
            Nodes of an older version say nothing of themselves; this one should be here within five seconds.
          </Empty>
        </div>
      ) : (
        <NodeTable fleet={fleet.data} />
      )}
    </Page>
  )
}

function NodeTable({ fleet: { nodes, schema } }: { fleet: Fleet }) {
  return (
    <div className="sheet sheet-flush scroll-x">
      <Table verticalSpacing="sm" horizontalSpacing="md" fz="sm" className="stacking">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Node</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Browser</Table.Th>
            <Table.Th>Renders</Table.Th>
            <Table.Th className="end">Load of cores</Table.Th>
            <Table.Th className="end">Memory</Table.Th>
            <Table.Th>Version</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {nodes.map((node) => (
            <Table.Tr key={node.id}>
              <Table.Td>
                <Text size="sm" fw={600} className="break" title={node.id}>
                  {node.host}
                </Text>
                <Text size="xs" className="quiet">
                  {node.roles.join(', ')}
                </Text>
              </Table.Td>
              <Table.Td>
                <StateBadge state={node.state} />
                <Text size="xs" className="quiet">
                  {node.state === 'dead' ? (
                    <>
                      last heard of <TimeText at={node.seen_at} />
                    </>
                  ) : (
                    <>
                      started <TimeText at={node.started_at} />
                    </>
                  )}
                </Text>
              </Table.Td>
              <Table.Td data-label="Browser">
                <BrowserState node={node} />
              </Table.Td>
              <Table.Td data-label="Renders">
                {node.slots === 0 ? (
                  <span className="quiet">does not render</span>
                ) : (
                  <Group gap={6} wrap="nowrap">
                    <Progress.Root size="sm" w={60}>
                      <Progress.Section
                        value={Math.min(100, (100 * node.running) / node.slots)}
                        aria-label={`${node.running} of ${node.slots} slots in use`}
                      />
                    </Progress.Root>
                    <span className="number one-line">
                      {node.running} of {node.slots}
                    </span>
                  </Group>
                )}
              </Table.Td>
              <Table.Td className="number end one-line" data-label="Load of cores">
                {node.load.toFixed(2)} of {node.cores}
              </Table.Td>
              <Table.Td className="number end one-line" data-label="Memory">
                {bytes(node.memory_bytes)}
              </Table.Td>
              <Table.Td data-label="Version">
                {node.version}
                {node.schema < schema && (
                  <Text size="xs" className="quiet">
                    older than the database: upgrade it
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

const STATES = {
  serving: { color: 'paint', label: 'Serving' },
  draining: { color: 'yellow', label: 'Draining' },
  dead: { color: 'red', label: 'Not heard of' },
} as const

function StateBadge({ state }: { state: FleetNode['state'] }) {
  const { color, label } = STATES[state]
  return (
    <Badge variant="light" color={color} tt="none">
      {label}
    </Badge>
  )
}

function BrowserState({ node: { browser, browsers, browsers_started } }: { node: FleetNode }) {
  if (browser === 'none') return <span className="quiet">none</span>
  return (
    <>
      <Badge variant="light" color={browser === 'ok' ? 'paint' : 'red'} tt="none">
        {browser === 'ok' ? 'Answers' : 'Does not answer'}
      </Badge>
      <Text size="xs" className="quiet number">
        {browsers === 1 ? '1 running' : `${browsers} running`},{' '}
        {counted(Math.max(0, browsers_started - 1), 'restart')}
      </Text>
    </>
  )
}
