import { Anchor, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { dnsQuery, domainsQuery, integrationsQuery } from '../../api/queries.ts'
import { useRights } from '../../api/rights.ts'
import {
  daysOf,
  monthOfRendersQuery,
  type Period,
  RANGES,
  type Range,
  rangeNamed,
  rendersCsvUrl,
  trafficBeforeQuery,
  trafficCsvUrl,
  trafficQuery,
  trafficSummariesQuery,
} from '../../api/traffic-queries.ts'
import type { DomainWithSettings, MonthOfRenders, Traffic, TrafficSummary } from '../../api/types.ts'
import { Chart } from '../../charts/chart.tsx'
import { crawlerName } from '../../crawler-categories.ts'
import { compact, count, counted, dayName, percent } from '../../format.ts'
import { isBehindFront } from '../../installation.ts'
import { FAILED_OUTCOMES } from '../../parts/badges.tsx'
import { Choice } from '../../parts/choice.tsx'
import { CopyField } from '../../parts/copy-field.tsx'
import { CsvButton, DataTable } from '../../parts/data-table.tsx'
import { May } from '../../parts/may.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { UsageBar } from '../../parts/usage-bar.tsx'
import { domainPath, ROUTES, rendersPath } from '../../route-map.ts'
import { crawlerCommand, frontCommand } from '../domain/dns-records.ts'
import { TrafficCharts, TrafficTiles } from './charts.tsx'
import { ComplianceTable } from './compliance.tsx'
import { MissingPages } from './missing-pages.tsx'
import { PathLists } from './paths.tsx'
import { firstVisitOf, limitMarks, monthOfRenders, trafficFrom } from './series.ts'
import classes from './traffic.module.css'
import { UnrecognisedClients } from './unrecognised.tsx'

export function TrafficOfAccount() {
  const [period, choose] = usePeriod()
  const summaries = useQuery(trafficSummariesQuery)
  const first = summaries.data?.[0]
  const added = useQuery(domainsQuery).data?.map(({ created_at: at }) => at)
  return (
    <Page title="Traffic" lead="All your domains together. Hours are in your time zone, days in UTC.">
      <PeriodBar period={period} onChoose={choose} csv={trafficCsvUrl(null, period)} />
      <Charts
        domain={null}
        addedAt={added?.toSorted()[0] ?? null}
        period={period}
        onChoose={choose}
        firstDomain={first?.domain ?? null}
      />
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
  const [period, choose] = usePeriod()
  const traffic = useQuery(trafficQuery(name, period))
  const mayListRenders = useRights()('listRenders')
  const hours = period.range.name === '24h' && period.day === null ? '24' : ''
  const failedHref = rendersPath(name, FAILED_OUTCOMES.join(), { hours })
  return (
    <Stack gap="lg">
      <PeriodBar period={period} onChoose={choose} csv={trafficCsvUrl(name, period)} />
      <May action="updateDomain">
        <MissingPages domain={domain} visits={traffic.data?.totals.soft_404 ?? 0} />
      </May>
      <Charts
        domain={name}
        addedAt={domain.created_at}
        period={period}
        onChoose={choose}
        firstDomain={name}
        failedHref={mayListRenders ? failedHref : undefined}
      >
        <PathLists domain={name} period={period} />
        <ComplianceTable domain={name} period={period} />
        <May action="getUnrecognisedClients">
          <UnrecognisedClients domain={name} period={period} />
        </May>
      </Charts>
      <May action="getMonthOfRenders">
        <RendersOfMonth domain={name} />
      </May>
    </Stack>
  )
}

type Choose = (chosen: { range: Range['name']; day?: string | null }) => void

/** The period in the address. Another range has no day chosen. */
function usePeriod(): [Period, Choose] {
  const [params, setParams] = useSearchParams()
  const range = rangeNamed(params.get('range'))
  const day = params.get('day')
  const choose: Choose = (chosen) => {
    const query: Record<string, string> = { range: chosen.range }
    if (typeof chosen.day === 'string') query['day'] = chosen.day
    setParams(query, { replace: true })
  }
  // Days of before the range may stand in an old link.
  const isKnown = day !== null && daysOf(range, Date.now()).includes(day)
  return [{ range, day: isKnown ? day : null }, choose]
}

function PeriodBar(props: { period: Period; onChoose: Choose; csv: string }) {
  const { period, onChoose } = props
  const { range, day } = period
  const days = daysOf(range, Date.now()).map((each) => ({ value: each, label: dayName(each) }))
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="sm">
        <Choice
          label="Range"
          options={RANGES}
          chosen={range.name}
          onChoose={(name) => onChoose({ range: name })}
        />
        <NativeSelect
          aria-label="Day"
          data={[{ value: '', label: 'All days' }, ...days]}
          value={day ?? ''}
          onChange={(event) => onChoose({ range: range.name, day: event.currentTarget.value || null })}
        />
      </Group>
      <CsvButton href={props.csv} label="Download the counts as CSV" />
    </Group>
  )
}

function Charts(props: {
  /** Null: the whole account. */
  domain: string | null
  /** When the domain was added, or the first one of the account; null: not known yet. */
  addedAt: string | null
  period: Period
  onChoose: Choose
  /** The domain to visit first, or null if there is none. */
  firstDomain: string | null
  failedHref?: string | undefined
  children?: ReactNode
}) {
  const { domain, addedAt, period, onChoose, firstDomain, failedHref } = props
  const { range } = period
  const traffic = useQuery(trafficQuery(domain, period))
  const before = useQuery(trafficBeforeQuery(domain, period)).data ?? null
  // Nothing is compared with the time before the first visit.
  const shownBefore = before !== null && before.totals.visits > 0 ? before : null
  const pick = (time: string) => onChoose({ range: range.name, day: time.slice(0, 10) })
  // Nothing is drawn before the first visit.
  const isNewIn = ({ times: [start = ''] }: Traffic) => addedAt !== null && addedAt >= start
  return (
    <Loaded query={traffic} rows={8}>
      {(data) =>
        data.totals.visits + data.totals.people === 0 ? (
          <NoVisits period={period} firstDomain={firstDomain} onChoose={onChoose} />
        ) : (
          <Stack gap="lg" className={traffic.isPlaceholderData ? classes.updating : ''}>
            <TrafficTiles traffic={data} before={shownBefore?.totals ?? null} failedHref={failedHref} />
            <TrafficCharts
              traffic={isNewIn(data) ? trafficFrom(data, firstVisitOf(data)) : data}
              isNew={isNewIn(data)}
              before={shownBefore}
              period={period}
              onPick={period.day === null ? pick : undefined}
            />
            {props.children}
          </Stack>
        )
      }
    </Loaded>
  )
}

function NoVisits(props: { period: Period; firstDomain: string | null; onChoose: Choose }) {
  const { period, firstDomain, onChoose } = props
  const { range, day } = period
  if (day !== null) {
    return (
      <div className="sheet">
        <Empty
          title={`No visits on ${dayName(day)}`}
          action={
            <Button variant="default" onClick={() => onChoose({ range: range.name })}>
              Show {range.label}
            </Button>
          }
        >
          No crawler and no person came on this day.
        </Empty>
      </div>
    )
  }
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
  if (used >= limit) return `The limit is reached. ${soFar} At 120 % rendering stops until next month.`
  if (forecast === null) return `${soFar} The forecast starts after one full day.`
  const { renders, per_day, reaches_limit_on } = forecast
  const pace = `At ${counted(Math.round(per_day), 'render')} a day, the month ends at ${count(renders)}`
  if (reaches_limit_on === null) return `${soFar} ${pace}, within the limit.`
  return `${soFar} ${pace}. The limit is reached on ${dayName(reaches_limit_on)}.`
}
