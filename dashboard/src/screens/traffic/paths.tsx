import { Anchor, Badge, Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'

import { type Period, pathsCsvUrl, trafficPathsQuery } from '../../api/traffic-queries.ts'
import type { TrafficPaths as Paths } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { CsvButton, DataTable } from '../../parts/data-table.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { pagePath } from '../../route-map.ts'
import classes from './traffic.module.css'

export function PathLists({ domain, period }: { domain: string; period: Period }) {
  return (
    <div className={`${classes.pair} ${classes.lists}`}>
      <Section
        title="Most visited pages"
        lead="Of whole days (UTC)."
        actions={<CsvButton href={pathsCsvUrl(domain, period)} label="Download both lists of paths as CSV" />}
      >
        <PathList
          domain={domain}
          period={period}
          list="top"
          none="No crawler requested a page in this range."
        />
      </Section>
      <Section title="Failing pages" lead="No rendered page, or one with an error status.">
        <PathList
          domain={domain}
          period={period}
          list="failing"
          none="None: every crawler got a rendered page."
        />
      </Section>
    </div>
  )
}

function PathList(props: { domain: string; period: Period; list: 'top' | 'failing'; none: string }) {
  const { domain, period, list, none } = props
  const paths = useQuery(trafficPathsQuery(domain, period))
  return (
    <Loaded query={paths}>
      {(data) =>
        data[list].length === 0 ? (
          <Note size="sm">{none}</Note>
        ) : (
          <PathTable domain={domain} paths={data[list]} others={data.others[list]} />
        )
      }
    </Loaded>
  )
}

const ROWS = 8

function PathTable(props: { domain: string; paths: Paths['top']; others: number }) {
  const [isWhole, setWhole] = useState(false)
  const rows = isWhole ? props.paths : props.paths.slice(0, ROWS)
  return (
    <div>
      <DataTable
        look="fixed"
        rows={rows}
        keyOf={({ path }) => path}
        columns={[
          {
            title: 'Path',
            cell: ({ path }) => (
              <Anchor component={Link} href={pagePath(props.domain, path)} size="sm" className="break">
                {path}
              </Anchor>
            ),
          },
          { title: 'Last verdict', width: 120, cell: (row) => <LastVerdict {...row} /> },
          { title: 'Visits', width: 70, kind: 'number', cell: ({ visits }) => count(visits) },
        ]}
      />
      {rows.length < props.paths.length && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setWhole(true)}>
          Show {props.paths.length - rows.length} more
        </Button>
      )}
      {props.others > 0 && (
        <Note mt="xs">And {counted(props.others, 'visit')} to paths with too few visits to be listed.</Note>
      )}
    </div>
  )
}

function LastVerdict({ verdict, status }: { verdict: string; status: number }) {
  return (
    <Badge color={verdictColour(verdict, status)} size="sm" maw="100%" title={`${verdict}, status ${status}`}>
      {verdictText(verdict, status)}
    </Badge>
  )
}

/** The page does not exist, although the origin says 200. That is no failure. */
const SOFT_404 = 'pass; soft-404'

function verdictText(verdict: string, status: number): string {
  if (status >= 400) return String(status)
  if (verdict === SOFT_404) return 'not found'
  const [kind = '', reason] = verdict.split('; ')
  return reason ?? kind
}

/** A verdict with a reason means that the crawler got the origin instead of a rendered page. */
function verdictColour(verdict: string, status: number): string {
  if (verdict === SOFT_404) return 'yellow'
  if (verdict.includes('; ') || status >= 500) return 'red'
  return status >= 400 ? 'yellow' : 'paint'
}
