import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'

import { planQuery } from '../../api/queries.ts'
import { trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { Plan, TrafficSummary } from '../../api/types.ts'
import { bytes, count, counted, dayName } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { UsageBar } from '../../parts/usage-bar.tsx'
import { domainPath, ROUTES } from '../../route-map.ts'

export default function PlanScreen() {
  const plan = useQuery(planQuery)
  const summaries = useQuery(trafficSummariesQuery)
  return (
    <Page
      title="Plan"
      lead="What your plan includes, and how much of it you use. The operator can change it."
    >
      <Loaded query={plan}>
        {(data) => (
          <>
            <div className="columns">
              <InUse plan={data} />
              <Included plan={data} />
            </div>
            <Section
              title="Renders this month"
              lead={`Each domain has ${count(data.renders.limit_per_domain)} renders per month (UTC). At 120 % (${count(data.renders.stops_at)}) rendering stops: crawlers get cached pages, or the origin if a page is not cached. Cache hits never count.`}
            >
              <Loaded query={summaries} rows={2}>
                {(list) =>
                  list.length === 0 ? (
                    <Empty title="No domain yet">
                      <Anchor component={Link} href={ROUTES.domains}>
                        Add your first site
                      </Anchor>{' '}
                      to see its renders here.
                    </Empty>
                  ) : (
                    <RendersByDomain summaries={list} />
                  )
                }
              </Loaded>
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function InUse({ plan: { name, sites, renders, api_keys, webhooks } }: { plan: Plan }) {
  return (
    <Section title={`Your plan: ${name}`} lead="In use now">
      <Stack gap="md">
        <UsageBar name="Sites" label="Sites: " used={sites.used} limit={sites.limit} />
        <UsageBar
          name="Active API keys"
          label="Active API keys: "
          used={api_keys.used}
          limit={api_keys.included ? api_keys.limit : 0}
        />
        <Text size="sm">
          {counted(renders.used, 'render')} this month in all domains, and{' '}
          {counted(webhooks.used, 'active webhook token')}.
        </Text>
      </Stack>
    </Section>
  )
}

function Included({ plan: { renders, api_keys: keys, webhooks, requests } }: { plan: Plan }) {
  return (
    <Section title="Included" lead="Live traffic is not limited: cache hits are always served.">
      <Facts
        rows={[
          ['Renders', `${count(renders.limit_per_domain)} a month for each domain`],
          ['API keys', <KeysIncluded key="keys" keys={keys} paths={requests.paths_per_refresh} />],
          ['Webhooks', webhooks.included ? webhooksText(webhooks) : 'not in this plan'],
          ['Request bodies', `up to ${bytes(requests.body_bytes)}`],
        ]}
      />
    </Section>
  )
}

function KeysIncluded({ keys, paths }: { keys: Plan['api_keys']; paths: number }) {
  if (!keys.included) return 'not in this plan: use the dashboard'
  return (
    <>
      <Anchor component={Link} href={ROUTES.keys} underline="always">
        {count(keys.limit)} for the account
      </Anchor>
      , up to {count(paths)} paths per refresh
    </>
  )
}

function webhooksText(webhooks: Plan['webhooks']): string {
  const { limit_per_domain: tokens, requests_per_hour: requests, urls_per_request: urls } = webhooks
  return `${count(tokens)} tokens for each domain, ${count(requests)} requests an hour, ${count(urls)} URLs per request`
}

function RendersByDomain({ summaries }: { summaries: readonly TrafficSummary[] }) {
  return (
    <DataTable
      rows={summaries}
      keyOf={({ domain }) => domain}
      columns={[
        {
          title: 'Domain',
          cell: ({ domain }) => (
            <Anchor component={Link} href={domainPath('domainTraffic', domain)} size="sm" className="break">
              {domain}
            </Anchor>
          ),
        },
        {
          title: 'Used',
          cell: ({ renders }) => <UsageBar name="Renders used" {...renders} />,
        },
        {
          title: 'Forecast',
          kind: 'labelled',
          cell: ({ renders: { forecast } }) => <Forecast forecast={forecast} />,
        },
      ]}
    />
  )
}

function Forecast({ forecast }: { forecast: TrafficSummary['renders']['forecast'] }) {
  if (forecast === null) return <span className="quiet">after one full day</span>
  return (
    <>
      <span className="number">{count(forecast.renders)}</span>
      {forecast.reaches_limit_on !== null && (
        <Text size="xs" c="red">
          reaches the limit on {dayName(forecast.reaches_limit_on)}
        </Text>
      )}
    </>
  )
}
