import { Anchor, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { incidentsQuery } from '../../api/notification-queries.ts'
import { siteQuery } from '../../api/portfolio-queries.ts'
import { monthlyReportQuery } from '../../api/report-queries.ts'
import type { PortfolioDomain } from '../../api/types.ts'
import { crawlerName } from '../../crawler-categories.ts'
import { Section } from '../../parts/page.tsx'
import { Loaded, Loading } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { domainPath, incidentsPath } from '../../route-map.ts'
import { WorstIncident } from '../notifications/incidents.tsx'
import { firstReportDay, isFirstReportAhead, reportPath } from '../reports/report-path.ts'
import { weekText } from '../sites/site-groups.ts'
import { STATE_SENTENCES, StateShape } from '../sites/state-shape.tsx'
import { WeekFigures } from './week-figures.tsx'

/** The overview for members who look at a site and change nothing. */
export function ClientOverview({ domain }: { domain: string }) {
  const site = useQuery(siteQuery(domain))
  const incidents = useQuery(incidentsQuery(domain))
  // What stands below would jump when they are loaded.
  if ([site, incidents].some(({ data, error }) => data === undefined && error === null)) {
    return <Loading rows={6} />
  }
  const hasOpen = incidents.data?.some(({ state }) => state === 'open') ?? false
  return (
    <Stack gap="lg">
      {incidents.data !== undefined && <WorstIncident incidents={incidents.data} />}
      {site.data != null && !hasOpen && (
        <div className="sheet" role="status" aria-label="Health">
          <StateSentences site={site.data} />
          {site.data.last_crawler === null && <Text size="sm">{NO_CRAWLER}</Text>}
        </div>
      )}
      {site.data != null && <WeekFigures site={site.data} />}
      <ReportInWords domain={domain} />
    </Stack>
  )
}

/** A few sites in sentences, in place of the list: their state, visits, last crawler and report. */
export function SitesInWords({ sites }: { sites: readonly PortfolioDomain[] }) {
  return (
    <Stack gap="lg">
      {sites.map((site) => (
        <SiteInWords key={site.id} site={site} />
      ))}
      <ReportInWords domain={null} />
    </Stack>
  )
}

function SiteInWords({ site }: { site: PortfolioDomain }) {
  const { custom_domain: name, open_incidents: open } = site
  return (
    <section className="sheet" aria-label={name}>
      <Stack gap="sm">
        <Title order={2} className="break">
          <Anchor component={Link} href={domainPath('domain', name)} inherit>
            {name}
          </Anchor>
        </Title>
        <SiteSentences site={site} />
        <Group gap="md">
          <Anchor component={Link} href={domainPath('domainTraffic', name)} size="sm" underline="always">
            Traffic
          </Anchor>
          <Anchor component={Link} href={domainPath('domainPages', name)} size="sm" underline="always">
            Pages
          </Anchor>
          {open > 0 && (
            <Anchor component={Link} href={incidentsPath(name)} size="sm" underline="always">
              Incidents
            </Anchor>
          )}
        </Group>
      </Stack>
    </section>
  )
}

const NO_CRAWLER = 'No crawler has visited yet.'

function SiteSentences({ site }: { site: PortfolioDomain }) {
  const { last_crawler: last } = site
  return (
    <Stack gap={4}>
      <StateSentences site={site} />
      <Text size="sm">{weekText([site])}.</Text>
      <Text size="sm">
        {last === null ? (
          NO_CRAWLER
        ) : (
          <>
            Last crawler: {crawlerName(last.name)}, <TimeText at={last.at} />.
          </>
        )}
      </Text>
    </Stack>
  )
}

function StateSentences({ site: { state, reasons } }: { site: PortfolioDomain }) {
  const texts = reasons.length === 0 ? [STATE_SENTENCES[state]] : reasons.map(({ text }) => text)
  return texts.map((text, at) => (
    <Group key={text} gap="xs" wrap="nowrap" align="center">
      {at === 0 && <StateShape state={state} />}
      <Text fw={500} className="break">
        {text}
      </Text>
    </Group>
  ))
}

/** The last whole month in one sentence. `domain` null: of all sites that the member sees. */
function ReportInWords({ domain }: { domain: string | null }) {
  const report = useQuery(monthlyReportQuery({ month: null, tag: null, domains: domain }))
  return (
    <Section title="Report of the month">
      <Loaded query={report} rows={2}>
        {(shown) =>
          isFirstReportAhead(shown) ? (
            <Text size="sm">
              The first report is made on {firstReportDay(shown)}.{' '}
              <Anchor
                component={Link}
                href={reportPath(shown.month, null, domain)}
                underline="always"
                inherit
              >
                Show the month so far
              </Anchor>
            </Text>
          ) : (
            <Text size="sm">
              {shown.summary}{' '}
              <Anchor
                component={Link}
                href={reportPath(shown.month, null, domain)}
                underline="always"
                inherit
              >
                Read the report
              </Anchor>
            </Text>
          )
        }
      </Loaded>
    </Section>
  )
}
