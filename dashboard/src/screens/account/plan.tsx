import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'

import { planQuery } from '../../api/queries.ts'
import { trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { Plan, TrafficSummary } from '../../api/types.ts'
import { compact, count, counted, dayName } from '../../format.ts'
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
              lead={`Each domain has ${count(data.renders.limit_per_domain)} renders per month (UTC). At 120% (${count(data.renders.stops_at)}) rendering stops: crawlers get cached pages, or the origin if a page is not cached. Cache hits never count.`}
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

function Included({ plan: { renders, api_keys, webhooks, requests } }: { plan: Plan }) {
  return (
    <Section title="Included" lead="Live traffic is not limited: cache hits are always served.">
      <Facts
        rows={[
          ['Renders', `${count(renders.limit_per_domain)} a month for each domain`],
          [
            'API keys',
            api_keys.included ? (
              <>
                <Anchor component={Link} href={ROUTES.keys} underline="always">
                  {count(api_keys.limit)} for the account
                </Anchor>
                , up to {count(requests.paths_per_refresh)} paths per refresh
              </>
            ) : (
              'not in this plan: use the dashboard'
            ),
          ],
          [
            'Webhooks',
            webhooks.included
              ? `${count(webhooks.limit_per_domain)} tokens for each domain, ${count(webhooks.requests_per_hour)} requests an hour, ${count(webhooks.urls_per_request)} URLs per request`
              : 'not in this plan',
          ],
          ['Request bodies', `up to ${compact(requests.body_bytes / 1_048_576)} MiB`],
        ]}
      />
    </Section>
  )
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
          cell: ({ renders: { forecast } }) =>
            forecast === null ? (
              <span className="quiet">after one full day</span>
            ) : (
              <>
                <span className="number">{count(forecast.renders)}</span>
                {forecast.reaches_limit_on !== null && (
                  <Text size="xs" c="red">
                    reaches the limit on {dayName(forecast.reaches_limit_on)}
                  </Text>
                )}
              </>
            ),
        },
      ]}
    />
  )
}
