import { Badge, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { REPORT_FIGURES, reportFacts } from '@prepaint/contract/notifications/report-words.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { incidentsQuery, reportQuery } from '../../api/notification-queries.ts'
import { sharedPagesQuery, sharedQuery } from '../../api/queries.ts'
import { shareToken } from '../../api/share-token.ts'
import { RANGES, type Range, trafficQuery } from '../../api/traffic-queries.ts'
import type { Shared } from '../../api/types.ts'
import { exactTime } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Note, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { SchemeToggle, SignedOutFrame, Wordmark } from '../../shell/frame.tsx'
import { kindTitle } from '../notifications/kind-title.ts'
import { Choice, TrafficCharts, TrafficTiles } from '../traffic/charts.tsx'
import { useSharedEvents } from './share-events.ts'
import classes from './share-view.module.css'

/** What a share link shows to whoever has it, without a session. */
export default function SharedScreen() {
  useState(() => shareToken.set(location.hash.slice(1)))
  const shared = useQuery({ ...sharedQuery, retry: false, refetchInterval: 60_000 })
  if (shared.error instanceof ApiError && [401, 403].includes(shared.error.status)) return <Ended />
  return (
    <main className={classes.frame}>
      <Group justify="space-between">
        <Wordmark />
        <SchemeToggle />
      </Group>
      <Loaded query={shared}>{(share) => <Share share={share} />}</Loaded>
    </main>
  )
}

function Ended() {
  return (
    <SignedOutFrame title="This link shows nothing any more">
      <Text>It has expired or was revoked. Ask who gave it to you for a new one.</Text>
    </SignedOutFrame>
  )
}

function Share({ share }: { share: Shared }) {
  const { account, domains, parts, expires_at: expires } = share
  useSharedEvents()
  const [chosen, choose] = useState<string | null>(null)
  const domain = chosen !== null && domains.includes(chosen) ? chosen : null
  return (
    <Page
      title={account.name}
      lead={`${domains.length === 1 ? `${domains[0]}, shared` : 'Shared'} with you until ${exactTime(expires)}. Whoever has this link sees the same.`}
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
          {parts.includes('traffic') && <SharedTraffic domain={domain} />}
          {parts.includes('incidents') && <SharedIncidents domain={domain} />}
          {parts.includes('report') && <SharedReport />}
          {parts.includes('pages') && <SharedPages domain={domain ?? domains[0]!} />}
        </Stack>
      )}
    </Page>
  )
}

function SharedTraffic({ domain }: { domain: string | null }) {
  const [range, setRange] = useState<Range>(RANGES[1])
  const traffic = useQuery(trafficQuery(domain, range))
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
              <TrafficTiles traffic={data} />
              <TrafficCharts traffic={data} range={range} />
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

function SharedReport() {
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
