import { Anchor, Badge, Button, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { csvUrl, trafficPathsQuery } from '../../api/traffic-queries.ts'
import type { Range } from '../../api/traffic-range.ts'
import type { TrafficPaths as Paths } from '../../api/types.ts'
import { Section } from '../../parts/page.tsx'
import { Loading, Trouble } from '../../parts/states.tsx'
import { count, counted } from '../../parts/usage-bar.tsx'
import { pagePath } from '../../route-map.ts'
import { CsvButton } from './head.tsx'
import classes from './traffic.module.css'

/** What crawlers asked for most, and what they got no page for. */
export function TrafficPaths({ domain, range }: { domain: string; range: Range }) {
  const paths = useQuery(trafficPathsQuery(domain, range))
  const shown = (list: 'top' | 'failing', none: string) =>
    paths.data === undefined ? (
      paths.error === null ? (
        <Loading rows={4} />
      ) : (
        <Trouble error={paths.error} onRetry={() => paths.refetch()} />
      )
    ) : paths.data[list].length === 0 ? (
      <Text size="sm" className="quiet">
        {none}
      </Text>
    ) : (
      <PathTable domain={domain} paths={paths.data[list]} others={paths.data.others[list]} />
    )
  return (
    <div className={`${classes.pair} ${classes.lists}`}>
      <Section
        title="Asked for most"
        lead="Of whole days, in UTC."
        actions={
          <CsvButton href={csvUrl(domain, '/paths', range)} label="Download both lists of paths as CSV" />
        }
      >
        {shown('top', 'No crawler asked for a page in this time.')}
      </Section>
      <Section title="Failing" lead="No finished page, or one with an error as its status.">
        {shown('failing', 'None: every crawler got its page.')}
      </Section>
    </div>
  )
}

/** Rows at first; whoever wants more asks for them. */
const ROWS = 8

function PathTable(props: { domain: string; paths: Paths['top']; others: number }) {
  const [isWhole, setWhole] = useState(false)
  const rows = isWhole ? props.paths : props.paths.slice(0, ROWS)
  return (
    <div>
      <Table fz="sm" verticalSpacing={6} horizontalSpacing="xs" layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Path</Table.Th>
            <Table.Th w={120}>Last answer</Table.Th>
            <Table.Th w={70} className="end">
              Visits
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ path, visits, verdict, status }) => (
            <Table.Tr key={path}>
              <Table.Td>
                <Anchor component={Link} href={pagePath(props.domain, path)} size="sm" className="break">
                  {path}
                </Anchor>
              </Table.Td>
              <Table.Td>
                <LastAnswer verdict={verdict} status={status} />
              </Table.Td>
              <Table.Td className="end number">{count(visits)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {rows.length < props.paths.length && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setWhole(true)}>
          Show {props.paths.length - rows.length} more
        </Button>
      )}
      {props.others > 0 && (
        <Text size="xs" className="quiet" mt="xs">
          And {counted(props.others, 'visit')} to paths that come too seldom to be told apart.
        </Text>
      )}
    </div>
  )
}

function LastAnswer({ verdict, status }: { verdict: string; status: number }) {
  const [kind = '', why] = verdict.split('; ')
  const color = why !== undefined || status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'paint'
  return (
    <Badge
      variant="light"
      color={color}
      tt="none"
      size="sm"
      maw="100%"
      title={`${verdict}, status ${status}`}
    >
      {status >= 400 ? `${status}` : (why ?? kind)}
    </Badge>
  )
}
