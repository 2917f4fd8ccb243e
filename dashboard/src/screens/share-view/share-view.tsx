import { Badge, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { monthName } from '@prepaint/contract/notifications/monthly-words.ts'
import { REPORT_FIGURES, reportFacts } from '@prepaint/contract/notifications/report-words.ts'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { isRefusal } from '../../api/api-error.ts'
import { incidentsQuery, reportQuery } from '../../api/notification-queries.ts'
import { portfolioQuery } from '../../api/portfolio-queries.ts'
import { sharedPagesQuery, sharedQuery } from '../../api/queries.ts'
import { monthlyReportQuery } from '../../api/report-queries.ts'
import { callerHeaders } from '../../api/request.ts'
import { shareToken } from '../../api/share-token.ts'
import { RANGES, type Range, trafficBeforeQuery, trafficQuery } from '../../api/traffic-queries.ts'
import type { Shared } from '../../api/types.ts'
import { crawlerName } from '../../crawler-categories.ts'
import { count, exactTime, percent } from '../../format.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Note, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { Brand, MadeWith, useBrand } from '../../shell/brand.tsx'
import { SchemeToggle, SignedOutFrame } from '../../shell/frame.tsx'
import { isChosen, parseBrand, type SeenBrand, seenBrands } from '../../shell/seen-brand.ts'
import { kindTitle } from '../notifications/kind-title.ts'
import { MonthReport } from '../reports/month-report.tsx'
import { shortDifference } from '../sites/site-groups.ts'
import { STATE_SENTENCES, StateShape } from '../sites/state-shape.tsx'
import { TrafficCharts, TrafficTiles } from '../traffic/charts.tsx'
import { useSharedEvents } from './share-events.ts'
import classes from './share-view.module.css'

/** What a share link shows to whoever has it, without a session. */
export default function SharedScreen() {
  useState(() => shareToken.set(location.hash.slice(1)))
  const shared = useQuery({ ...sharedQuery, retry: false, refetchInterval: 60_000 })
  const account = shared.data?.account
  useBrand(account?.branding, account?.name ?? '')
  useEffect(() => {
    if (account === undefined) return
    const { branding, name } = account
    seenBrands.keepOfLink(isChosen(branding) ? { ...branding, account: name } : null)
  }, [account])
  if (isRefusal(shared.error, 'share_link_invalid', 'account_suspended')) return <Ended />
  return (
    <main className={classes.frame}>
      <Group justify="space-between" className={classes.noPrint}>
        <Brand branding={account?.branding} account={account?.name ?? ''} />
        <SchemeToggle />
      </Group>
      <Loaded query={shared}>{(share) => <Share share={share} />}</Loaded>
      <div className={classes.noPrint}>
        <MadeWith branding={account?.branding} />
      </div>
    </main>
  )
}

function Ended() {
  const asked = useQuery({ queryKey: ['shared', 'ask'], queryFn: readWhomToAsk, retry: false })
  // Empty until it is known: another name would only flash.
  if (asked.isPending) return null
  const { name = null, brand = null } = asked.data ?? {}
  return (
    <SignedOutFrame title="This link shows nothing any more" brand={brand ?? seenBrands.ofTab()}>
      <Text>
        {name === null
          ? 'It has expired or was revoked. Ask who gave it to you for a new one.'
          : `It has expired. Ask ${name} for a new one.`}
      </Text>
    </SignedOutFrame>
  )
}

/** Returns whose link it was. Only a link that has expired says so; null: it was revoked, or never was one. */
async function readWhomToAsk({
  signal,
}: {
  signal: AbortSignal
}): Promise<{ name: string; brand: SeenBrand | null } | null> {
  const { headers } = await fetch('/api/shared', { headers: callerHeaders(), signal })
  const whom = headers.get('prepaint-ask')
  if (whom === null) return null
  const name = decodeURIComponent(whom)
  const look = JSON.parse(decodeURIComponent(headers.get('prepaint-branding') ?? 'null')) as object | null
  const brand = parseBrand(JSON.stringify({ ...look, account: name }))
  return { name, brand: brand !== null && isChosen(brand) ? brand : null }
}

function Share({ share }: { share: Shared }) {
  const { account, domains, parts, expires_at: expires } = share
  useSharedEvents()
  const [chosen, choose] = useState<string | null>(null)
  const domain = chosen !== null && domains.includes(chosen) ? chosen : null
  return (
    <Page
      title={account.branding.name ?? account.name}
      lead={`${domains.length === 1 ? `${domains[0]}, shared` : 'Shared'} with you until ${exactTime(expires)}. Anyone with this link can see this.`}
    >
      {domains.length === 0 && (
        <Empty title="No domain">The domains that this link showed were removed.</Empty>
      )}
      {domains.length > 1 && (
        <NativeSelect
          label="Domain"
          data={[{ value: '', label: `All ${domains.length} domains` }, ...domains]}
          value={domain ?? ''}
          onChange={(event) => choose(event.currentTarget.value || null)}
        />
      )}
      {domains.length > 0 && (
        <Stack gap="lg">
          {/* What is printed is the report. */}
          <Stack gap="lg" className={parts.includes('report') ? classes.noPrint : undefined}>
            {parts.includes('overview') && <SharedOverview domain={domain} />}
            {parts.includes('traffic') && <SharedTraffic domain={domain} />}
            {parts.includes('incidents') && <SharedIncidents domain={domain} />}
          </Stack>
          {parts.includes('report') && <SharedReports domain={domain} />}
          {parts.includes('pages') && <SharedPages domain={domain ?? domains[0]!} />}
        </Stack>
      )}
    </Page>
  )
}

const EVERYTHING = { search: '', state: null, tag: null, sort: 'attention' } as const

function SharedOverview({ domain }: { domain: string | null }) {
  const portfolio = useQuery(portfolioQuery(EVERYTHING))
  return (
    <Section title="Overview" lead="How each site is, and what crawlers did in the last 7 days.">
      <Loaded query={portfolio}>
        {({ domains }) => (
          <DataTable
            rows={domains.filter(({ custom_domain: name }) => domain === null || name === domain)}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Site',
                cell: ({ custom_domain: name, state, reasons }) => (
                  <Group gap="xs" wrap="nowrap" align="start">
                    <StateShape state={state} />
                    <div>
                      <Text size="sm" fw={500} className="break">
                        {name}
                      </Text>
                      <Note className="break">{reasons[0]?.text ?? STATE_SENTENCES[state]}</Note>
                    </div>
                  </Group>
                ),
              },
              {
                title: 'Visits',
                kind: 'number',
                cell: ({ visits: { total, before } }) => {
                  const changed = shortDifference(total, before)
                  return changed === '' ? count(total) : `${count(total)} (${changed})`
                },
              },
              { title: 'From the cache', kind: 'number', cell: ({ hit_ratio: hits }) => percent(hits) },
              {
                title: 'Last crawler',
                kind: 'labelled',
                cell: ({ last_crawler: last }) =>
                  last === null ? (
                    'none yet'
                  ) : (
                    <>
                      {crawlerName(last.name)}, <TimeText at={last.at} />
                    </>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function SharedTraffic({ domain }: { domain: string | null }) {
  const [range, setRange] = useState<Range>(RANGES[1])
  const period = { range, day: null }
  const traffic = useQuery(trafficQuery(domain, period))
  const before = useQuery(trafficBeforeQuery(domain, period)).data ?? null
  const shownBefore = before !== null && before.totals.visits > 0 ? before : null
  const choose = (name: Range['name']) => setRange(RANGES.find((each) => each.name === name) ?? RANGES[1])
  return (
    <Stack gap="lg">
      <Group>
        <Choice label="Range" options={RANGES} chosen={range.name} onChoose={choose} />
      </Group>
      <Loaded query={traffic} rows={8}>
        {(data) =>
          data.totals.visits + data.totals.people === 0 ? (
            <div className="sheet">
              <Empty title={`No visits in the last ${range.label}`}>
                Visits of crawlers are charted here.
              </Empty>
            </div>
          ) : (
            <>
              <TrafficTiles traffic={data} before={shownBefore?.totals ?? null} />
              <TrafficCharts traffic={data} before={shownBefore} period={period} />
            </>
          )
        }
      </Loaded>
    </Stack>
  )
}

function SharedIncidents({ domain }: { domain: string | null }) {
  const incidents = useQuery(incidentsQuery(domain))
  return (
    <Section
      title="Incidents"
      lead="What was wrong in the last 400 days, compared with each domain’s own past."
    >
      <Loaded query={incidents}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            empty={<Empty title="Nothing wrong">Incidents are listed here.</Empty>}
            columns={[
              {
                title: 'Incident',
                cell: ({ domain: name, kind, summary }) => (
                  <>
                    <Text size="sm" fw={500} className="break">
                      {name}: {kindTitle(kind)}
                    </Text>
                    <Note className="break">{summary}</Note>
                  </>
                ),
              },
              { title: 'Since', kind: 'labelled', cell: ({ since }) => <TimeText at={since} /> },
              {
                title: 'State',
                kind: 'labelled',
                cell: ({ state }) => (
                  <Badge color={state === 'open' ? 'red' : 'paint'}>
                    {state === 'open' ? 'Open' : 'Resolved'}
                  </Badge>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function SharedReports({ domain }: { domain: string | null }) {
  const [month, choose] = useState<string | null>(null)
  const report = useQuery(monthlyReportQuery({ month, tag: null, domains: domain }))
  return (
    <>
      <Loaded query={report} rows={8}>
        {(shown) => (
          <Stack gap="sm">
            <Group align="end" className={classes.noPrint}>
              <NativeSelect
                label="Report of"
                data={[...new Set([...shown.months, shown.month])].map((value) => ({
                  value,
                  label: monthName(value),
                }))}
                value={shown.month}
                onChange={(event) => choose(event.currentTarget.value)}
              />
              <Button variant="default" onClick={() => window.print()}>
                Print or save as PDF
              </Button>
            </Group>
            <MonthReport report={shown} />
          </Stack>
        )}
      </Loaded>
      <div className={classes.noPrint}>
        <SharedWeek />
      </div>
    </>
  )
}

function SharedWeek() {
  const report = useQuery(reportQuery(null))
  return (
    <Loaded query={report}>
      {(week) => (
        <Section title={`Report of week ${week.week}`} lead={`${week.from} to ${week.to}`}>
          <Facts rows={reportFacts(week)} />
          <DataTable
            rows={week.domains}
            keyOf={({ domain }) => domain}
            columns={[
              { title: 'Domain', cell: ({ domain }) => <span className="break">{domain}</span> },
              ...REPORT_FIGURES.map(({ title, of }) => ({ title, kind: 'number' as const, cell: of })),
            ]}
          />
        </Section>
      )}
    </Loaded>
  )
}

function SharedPages({ domain }: { domain: string }) {
  const pages = useQuery(sharedPagesQuery(domain))
  return (
    <Section title={`Cached pages of ${domain}`} lead="The pages that crawlers asked for last.">
      <Loaded query={pages}>
        {({ pages: list }) => (
          <DataTable
            rows={list}
            keyOf={({ path }) => path}
            empty={<Empty title="No page is cached yet">Pages are listed once crawlers ask for them.</Empty>}
            columns={[
              { title: 'Page', cell: ({ path }) => <span className="break">{path}</span> },
              { title: 'Status', kind: 'labelled', cell: ({ status }) => status },
              { title: 'Rendered', kind: 'labelled', cell: ({ rendered_at: at }) => <TimeText at={at} /> },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
