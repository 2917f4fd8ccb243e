import { Anchor, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { csvUrl, trafficQuery, trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { TrafficSummary } from '../../api/types.ts'
import { percent } from '../../format.ts'
import { Page, Section } from '../../parts/page.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count, QuotaBar } from '../../parts/usage-bar.tsx'
import { domainPath, ROUTES } from '../../route-map.ts'
import { TrafficCharts, TrafficTiles } from './charts.tsx'
import { FirstVisit } from './first-visit.tsx'
import { TrafficHead, useRange } from './head.tsx'
import classes from './traffic.module.css'

/** All domains of the account together. */
export function TrafficOfAccount() {
  const [range, choose] = useRange()
  const traffic = useQuery(trafficQuery(null, range))
  const summaries = useQuery(trafficSummariesQuery)
  const first = summaries.data?.[0]
  return (
    <Page title="Traffic" lead="All your domains together. Hours are in your time zone, days in UTC.">
      <TrafficHead range={range} onChoose={choose} csv={csvUrl(null, '', range)} />
      {traffic.data === undefined ? (
        traffic.error === null ? (
          <Loading rows={8} />
        ) : (
          <Trouble error={traffic.error} onRetry={() => traffic.refetch()} />
        )
      ) : traffic.data.totals.visits + traffic.data.totals.people === 0 ? (
        <div className="sheet">
          <Empty title={`Nobody came in the last ${range.label}`}>
            {first === undefined ? (
              <>
                Traffic is counted once there is a site:{' '}
                <Anchor component={Link} href={ROUTES.domains}>
                  add a domain
                </Anchor>
                .
              </>
            ) : (
              'Counts appear here some seconds after a visit. See a first one now:'
            )}
          </Empty>
          {first !== undefined && <FirstVisit domain={first.domain} />}
        </div>
      ) : (
        <Stack gap="lg" className={traffic.isPlaceholderData ? classes.updating : ''}>
          <TrafficTiles traffic={traffic.data} />
          <TrafficCharts traffic={traffic.data} range={range} />
        </Stack>
      )}
      {first !== undefined && (
        <Section
          title="Domains"
          lead="The last 24 hours and 7 days; renders of the month, and what they come to."
        >
          <SummaryTable summaries={summaries.data ?? []} />
        </Section>
      )}
    </Page>
  )
}

function SummaryTable({ summaries }: { summaries: readonly TrafficSummary[] }) {
  return (
    <div className="scroll-x">
      <Table fz="sm" verticalSpacing="sm" className="stacking">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Domain</Table.Th>
            <Table.Th className="end">Pages, 24 h</Table.Th>
            <Table.Th className="end">Hit ratio, 24 h</Table.Th>
            <Table.Th className="end">Hit ratio, 7 d</Table.Th>
            <Table.Th>Last crawler</Table.Th>
            <Table.Th>Renders this month</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {summaries.map(({ domain, day, week, last_crawler: last, renders }) => (
            <Table.Tr key={domain}>
              <Table.Td>
                <Anchor
                  component={Link}
                  href={domainPath('domainTraffic', domain)}
                  size="sm"
                  fw={500}
                  className="break"
                >
                  {domain}
                </Anchor>
              </Table.Td>
              <Table.Td className="end number" data-label="Pages, 24 h">
                {count(day.pages)}
              </Table.Td>
              <Table.Td className="end number" data-label="Hit ratio, 24 h">
                {percent(day.hit_ratio)}
              </Table.Td>
              <Table.Td className="end number" data-label="Hit ratio, 7 d">
                {percent(week.hit_ratio)}
              </Table.Td>
              <Table.Td data-label="Last crawler">
                {last === null ? (
                  <span className="quiet">none yet</span>
                ) : (
                  <>
                    {last.name}, <TimeText at={last.at} />
                  </>
                )}
              </Table.Td>
              <Table.Td>
                <QuotaBar used={renders.used} limit={renders.limit} />
                {renders.forecast !== null && (
                  <Text size="xs" className="quiet">
                    comes to {count(renders.forecast.renders)}
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
