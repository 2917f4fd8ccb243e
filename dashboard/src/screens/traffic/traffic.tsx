import { Anchor, Group, Stack, Text } from '@mantine/core'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { dnsQuery, integrationsQuery } from '../../api/queries.ts'
import {
  monthOfRendersQuery,
  RANGES,
  type Range,
  rangeNamed,
  rendersCsvUrl,
  trafficCsvUrl,
  trafficQuery,
  trafficSummariesQuery,
} from '../../api/traffic-queries.ts'
import type { DomainWithSettings, MonthOfRenders, Traffic, TrafficSummary } from '../../api/types.ts'
import { Chart } from '../../charts/chart.tsx'
import { crawlerName } from '../../crawler-categories.ts'
import { compact, count, counted, dayName, percent } from '../../format.ts'
import { isBehindFront } from '../../installation.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { CsvButton, DataTable } from '../../parts/data-table.tsx'
import { May } from '../../parts/may.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { UsageBar } from '../../parts/usage-bar.tsx'
import { domainPath, ROUTES } from '../../route-map.ts'
import { crawlerCommand, frontCommand } from '../domain/dns-records.ts'
import { Choice, TrafficCharts, TrafficTiles } from './charts.tsx'
import { ComplianceTable } from './compliance.tsx'
import { MissingPages } from './missing-pages.tsx'
import { PathLists } from './paths.tsx'
import { limitMarks, monthOfRenders } from './series.ts'
import classes from './traffic.module.css'
import { UnrecognisedClients } from './unrecognised.tsx'

export function TrafficOfAccount() {
  const [range, chooseRange] = useRange()
  const traffic = useQuery(trafficQuery(null, range))
  const summaries = useQuery(trafficSummariesQuery)
  const first = summaries.data?.[0]
  return (
    <Page title="Traffic" lead="All your domains together. Hours are in your time zone, days in UTC.">
      <RangeBar range={range} onChoose={chooseRange} csv={trafficCsvUrl(null, range)} />
      <Charts traffic={traffic} range={range} firstDomain={first?.domain ?? null} />
      {first !== undefined && (
        <Section
          title="Domains"
          lead="The last 24 hours and 7 days, and the renders of this month with their forecast."
        >
          <SummaryTable summaries={summaries.data ?? []} />
        </Section>
      )}
    </Page>
  )
}

export default function DomainTraffic({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [range, chooseRange] = useRange()
  const traffic = useQuery(trafficQuery(name, range))
  return (
    <Stack gap="lg">
      <RangeBar range={range} onChoose={chooseRange} csv={trafficCsvUrl(name, range)} />
      <May action="updateDomain">
        <MissingPages domain={domain} visits={traffic.data?.totals.soft_404 ?? 0} />
      </May>
      <Charts traffic={traffic} range={range} firstDomain={name}>
        <PathLists domain={name} range={range} />
        <ComplianceTable domain={name} range={range} />
        <May action="getUnrecognisedClients">
          <UnrecognisedClients domain={name} range={range} />
        </May>
      </Charts>
      <May action="getMonthOfRenders">
        <RendersOfMonth domain={name} />
      </May>
    </Stack>
  )
}

function useRange(): [Range, (name: Range['name']) => void] {
  const [params, setParams] = useSearchParams()
  const choose = (name: Range['name']) => setParams({ range: name }, { replace: true })
  return [rangeNamed(params.get('range')), choose]
}

function RangeBar(props: { range: Range; onChoose: (name: Range['name']) => void; csv: string }) {
  return (
    <Group justify="space-between" gap="sm">
      <Choice label="Range" options={RANGES} chosen={props.range.name} onChoose={props.onChoose} />
      <CsvButton href={props.csv} label="Download the counts as CSV" />
    </Group>
  )
}

function Charts(props: {
  traffic: UseQueryResult<Traffic>
  range: Range
  /** The domain to visit first, or null if there is none. */
  firstDomain: string | null
  children?: ReactNode
}) {
  const { traffic, range, firstDomain } = props
  return (
    <Loaded query={traffic} rows={8}>
      {(data) =>
        data.totals.visits + data.totals.people === 0 ? (
          <NoVisits range={range} firstDomain={firstDomain} />
        ) : (
          <Stack gap="lg" className={traffic.isPlaceholderData ? classes.updating : ''}>
            <TrafficTiles traffic={data} />
            <TrafficCharts traffic={data} range={range} />
            {props.children}
          </Stack>
        )
      }
    </Loaded>
  )
}

function NoVisits({ range, firstDomain }: { range: Range; firstDomain: string | null }) {
  const title = `No visits in the last ${range.label}`
  if (firstDomain === null) {
    return (
      <div className="sheet">
        <Empty title={title}>
          Visits of crawlers and people are charted here.{' '}
          <Anchor component={Link} href={ROUTES.domains}>
            Add a domain
          </Anchor>{' '}
          to start.
        </Empty>
      </div>
    )
  }
  return (
    <div className="sheet">
      <Empty title={title}>
        Visits are charted here a few seconds after they happen. Make the first one now:
      </Empty>
      <FirstVisit domain={firstDomain} />
    </div>
  )
}

/** A command that visits the domain as a crawler: by its front, or at the edge, even before its DNS points here. */
function FirstVisit({ domain }: { domain: string }) {
  const integrations = useQuery(integrationsQuery)
  const integration = integrations.data?.find((each) => each.domain === domain)
  if (integration === undefined) return null
  return isBehindFront(integration) ? <VisitByFront domain={domain} /> : <VisitAtEdge domain={domain} />
}

function VisitByFront({ domain }: { domain: string }) {
  return (
    <Stack gap="sm" maw={720} mx="auto">
      <CopyField label="Visit as a crawler" value={frontCommand(domain)} />
      <Note size="sm">
        The response header X-Prepaint shows the verdict: rendered the first time, hit the second time.
        Without this header, the site answered itself.
      </Note>
    </Stack>
  )
}

function VisitAtEdge({ domain }: { domain: string }) {
  const dns = useQuery(dnsQuery(domain))
  return (
    <Stack gap="sm" maw={720} mx="auto">
      <CopyField label="Visit as a crawler" value={crawlerCommand(domain, dns.data, location.hostname)} />
      <Note size="sm">
        The response header X-Prepaint shows the verdict: rendered the first time, hit the second time. If a
        proxy or container publishes the edge at another port, change the last port.
      </Note>
    </Stack>
  )
}

function SummaryTable({ summaries }: { summaries: readonly TrafficSummary[] }) {
  return (
    <DataTable
      rows={summaries}
      keyOf={({ domain }) => domain}
      columns={[
        {
          title: 'Domain',
          cell: ({ domain }) => (
            <Anchor
              component={Link}
              href={domainPath('domainTraffic', domain)}
              size="sm"
              fw={500}
              className="break"
            >
              {domain}
            </Anchor>
          ),
        },
        { title: 'Pages, 24 h', kind: 'number', cell: ({ day }) => count(day.pages) },
        { title: 'Hit ratio, 24 h', kind: 'number', cell: ({ day }) => percent(day.hit_ratio) },
        { title: 'Hit ratio, 7 days', kind: 'number', cell: ({ week }) => percent(week.hit_ratio) },
        {
          title: 'Last crawler',
          kind: 'labelled',
          cell: ({ last_crawler: last }) => <LastCrawler last={last} />,
        },
        {
          title: 'Renders this month',
          cell: ({ renders }) => (
            <>
              <UsageBar name="Renders used" used={renders.used} limit={renders.limit} />
              {renders.forecast !== null && <Note>forecast {count(renders.forecast.renders)}</Note>}
            </>
          ),
        },
      ]}
    />
  )
}

function LastCrawler({ last }: { last: TrafficSummary['last_crawler'] }) {
  if (last === null) return <span className="quiet">none yet</span>
  return (
    <>
      {crawlerName(last.name)}, <TimeText at={last.at} />
    </>
  )
}

function RendersOfMonth({ domain }: { domain: string }) {
  const query = useQuery(monthOfRendersQuery(domain))
  return (
    <Section
      title="Renders this month"
      lead="Cumulative, by day (UTC)."
      actions={<CsvButton href={rendersCsvUrl(domain)} label="Download the renders as CSV" />}
    >
      <Loaded query={query}>
        {(month) => (
          <>
            <Text size="sm">{outlook(month)}</Text>
            <Chart
              {...monthOfRenders(month)}
              label="Renders of the month"
              step="day"
              kind="bars"
              format={count}
              formatShort={compact}
              marks={limitMarks(month)}
            />
            <Note>The forecast adds, for each remaining day, the median of the last seven full days.</Note>
          </>
        )}
      </Loaded>
    </Section>
  )
}

function outlook({ used, limit, forecast }: MonthOfRenders): string {
  const soFar = `${count(used)} of ${counted(limit, 'render')} used.`
  if (used >= limit) return `The limit is reached. ${soFar} At 120% rendering stops until next month.`
  if (forecast === null) return `${soFar} The forecast starts after one full day.`
  const { renders, per_day, reaches_limit_on } = forecast
  const pace = `At ${counted(Math.round(per_day), 'render')} a day, the month ends at ${count(renders)}`
  if (reaches_limit_on === null) return `${soFar} ${pace}, within the limit.`
  return `${soFar} ${pace}. The limit is reached on ${dayName(reaches_limit_on)}.`
}
