import { Badge, Group, Progress, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'

import { fleetQuery } from '../../api/queries.ts'
import type { Fleet } from '../../api/types.ts'
import { bytes, count, counted } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Note, Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

type FleetNode = Fleet['nodes'][number]

export default function Nodes() {
  const fleet = useQuery(fleetQuery)
  return (
    <Page
      title="Nodes"
      lead="The processes that share this database, with their browsers. Each node reports every five seconds."
    >
      <Loaded query={fleet}>
        {(data) =>
          data.nodes.length === 0 ? (
            <div className="sheet">
              <Empty title="No node has reported yet">
                This node should appear here within five seconds. Nodes of older versions do not report.
              </Empty>
            </div>
          ) : (
            <NodeTable fleet={data} />
          )
        }
      </Loaded>
    </Page>
  )
}

function NodeTable({ fleet: { nodes, schema } }: { fleet: Fleet }) {
  return (
    <div className="sheet sheet-flush">
      <DataTable
        rows={nodes}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Node', width: 160, cell: (node) => <NodeName node={node} schema={schema} /> },
          { title: 'Browser', kind: 'labelled', width: 130, cell: (node) => <BrowserState node={node} /> },
          { title: 'Renders', kind: 'labelled', cell: (node) => <Slots node={node} /> },
          {
            title: 'CPU load',
            kind: 'number',
            className: 'one-line',
            cell: ({ load, cores }) => `${load.toFixed(2)} of ${counted(cores, 'core')}`,
          },
          {
            title: 'Memory (PSS)',
            kind: 'number',
            className: 'one-line',
            cell: ({ memory_bytes }) => bytes(memory_bytes),
          },
        ]}
      />
    </div>
  )
}

const STATES: Record<FleetNode['state'], { color: string; label: string }> = {
  serving: { color: 'paint', label: 'Serving' },
  draining: { color: 'yellow', label: 'Draining' },
  dead: { color: 'red', label: 'Not responding' },
}

function NodeName({ node, schema }: { node: FleetNode; schema: Fleet['schema'] }) {
  const { id, host, api_port: port, roles, version, state, seen_at: seenAt, started_at: startedAt } = node
  return (
    <>
      <Text size="sm" fw={600} className="break" title={id}>
        {host}
        {port !== null && <span className="quiet">:{port}</span>}
      </Text>
      <Badge color={STATES[state].color}>{STATES[state].label}</Badge>
      <Note>
        {state === 'dead' ? 'last report ' : 'started '}
        <TimeText at={state === 'dead' ? seenAt : startedAt} />
      </Note>
      <Note>
        {roles.join(', ')}; version {version}
      </Note>
      {node.schema < schema && <Note>older than the database: upgrade it</Note>}
    </>
  )
}

function BrowserState({ node: { browser, browsers, browsers_started: starts } }: { node: FleetNode }) {
  if (browser === 'none') return <span className="quiet">none</span>
  const isResponding = browser === 'ok'
  const isClosed = isResponding && browsers === 0
  return (
    <>
      <Badge color={isResponding ? 'paint' : 'red'}>{isResponding ? 'Responding' : 'Not responding'}</Badge>
      <Note>
        {isClosed ? 'closed until the next render' : `${count(browsers)} running`}, {counted(starts, 'start')}
      </Note>
    </>
  )
}

function Slots({ node: { slots, running } }: { node: FleetNode }) {
  if (slots === 0) return <span className="quiet">does not render</span>
  return (
    <Group gap={6} wrap="nowrap">
      <Progress.Root size="sm" w={60}>
        <Progress.Section
          value={Math.min(100, (100 * running) / slots)}
          aria-label={`${running} of ${slots} render slots in use`}
        />
      </Progress.Root>
      <span className="number one-line">
        {running} of {slots}
      </span>
    </Group>
  )
}
