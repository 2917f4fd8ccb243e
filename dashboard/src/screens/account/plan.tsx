import { Anchor, Progress, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { planQuery, trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { Plan, TrafficSummary } from '../../api/types.ts'
import { short, stepName } from '../../format.ts'
import { Page, Section } from '../../parts/page.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { count, counted, QuotaBar } from '../../parts/usage-bar.tsx'
import { domainPath, ROUTES } from '../../route-map.ts'

/** What the plan of the account allows, and how much of that is in use. */
export function PlanScreen() {
  const plan = useQuery(planQuery)
  const summaries = useQuery(trafficSummariesQuery)
  return (
    <Page title="Plan" lead="What your plan allows, and how much of it you use. The operator can change it.">
      {plan.data === undefined ? (
        plan.error === null ? (
          <Loading />
        ) : (
          <Trouble error={plan.error} onRetry={() => plan.refetch()} />
        )
      ) : (
        <>
          <div className="columns">
            <InUse plan={plan.data} />
            <Included plan={plan.data} />
          </div>
          <Section
            title="Renders this month"
            lead={`Each domain may use ${count(plan.data.renders.limit_per_domain)} in a UTC month. At 120% (${count(plan.data.renders.stops_at)}) nothing more is rendered: crawlers get what is stored, else the origin. Hits are never counted.`}
          >
            {summaries.data === undefined ? (
              summaries.error === null ? (
                <Loading rows={2} />
              ) : (
                <Trouble error={summaries.error} onRetry={() => summaries.refetch()} />
              )
            ) : summaries.data.length === 0 ? (
              <Empty title="No domain yet">
                <Anchor component={Link} href={ROUTES.domains}>
                  Add your first site
                </Anchor>
                , and its renders are counted here.
              </Empty>
            ) : (
              <RendersByDomain summaries={summaries.data} />
            )}
          </Section>
        </>
      )}
    </Page>
  )
}

function InUse({ plan: { name, sites, renders, api_keys, webhooks } }: { plan: Plan }) {
  return (
    <Section title={`Your plan: ${name}`} lead="In use now">
      <Stack gap="md">
        <Use name="Sites" used={sites.used} limit={sites.limit} />
        <Use name="Active API keys" used={api_keys.used} limit={api_keys.included ? api_keys.limit : 0} />
        <Text size="sm">
          {counted(renders.used, 'render')} this month over all domains, and{' '}
          {counted(webhooks.used, 'active webhook token')}.
        </Text>
      </Stack>
    </Section>
  )
}

function Use({ name, used, limit }: { name: string; used: number; limit: number | null }) {
  const text = limit === null ? `${count(used)}, as many as you want` : `${count(used)} of ${count(limit)}`
  const percent = limit === null ? 0 : limit === 0 ? (used > 0 ? 100 : 0) : (used / limit) * 100
  return (
    <Stack gap={4}>
      <Text size="sm">
        {name}: <b className="number">{text}</b>
      </Text>
      {limit !== null && (
        <Progress.Root size="sm">
          <Progress.Section
            value={Math.min(100, percent)}
            color={percent >= 100 ? 'yellow' : 'paint'}
            aria-label={`${name}: ${text}`}
          />
        </Progress.Root>
      )}
    </Stack>
  )
}

function Included({ plan: { renders, api_keys, webhooks, requests } }: { plan: Plan }) {
  return (
    <Section title="Included" lead="Live traffic has no limit: hits are always served.">
      <dl className="facts">
        <dt>Renders</dt>
        <dd>{count(renders.limit_per_domain)} a month for each domain</dd>
        <dt>API keys</dt>
        <dd>
          {api_keys.included ? (
            <>
              <Anchor component={Link} href={ROUTES.keys} underline="always">
                {count(api_keys.limit)} for the account
              </Anchor>
              , with {count(requests.paths_per_refresh)} paths in a refresh
            </>
          ) : (
            'not in this plan: the dashboard only'
          )}
        </dd>
        <dt>Webhooks</dt>
        <dd>
          {webhooks.included
            ? `${count(webhooks.limit_per_domain)} tokens for each domain, ${count(webhooks.requests_per_hour)} requests an hour, ${count(webhooks.urls_per_request)} addresses in one`
            : 'not in this plan'}
        </dd>
        <dt>Request bodies</dt>
        <dd>up to {short(requests.body_bytes / 1_048_576)} MiB</dd>
      </dl>
    </Section>
  )
}

function RendersByDomain({ summaries }: { summaries: readonly TrafficSummary[] }) {
  return (
    <div className="scroll-x">
      <Table fz="sm" verticalSpacing="sm" className="stacking">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Domain</Table.Th>
            <Table.Th>Used</Table.Th>
            <Table.Th>Comes to</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {summaries.map(({ domain, renders: { used, limit, forecast } }) => (
            <Table.Tr key={domain}>
              <Table.Td>
                <Anchor
                  component={Link}
                  href={domainPath('domainTraffic', domain)}
                  size="sm"
                  className="break"
                >
                  {domain}
                </Anchor>
              </Table.Td>
              <Table.Td>
                <QuotaBar used={used} limit={limit} />
              </Table.Td>
              <Table.Td data-label="Comes to">
                {forecast === null ? (
                  <span className="quiet">known after a whole day</span>
                ) : (
                  <>
                    <span className="number">{count(forecast.renders)}</span>
                    {forecast.reaches_limit_on !== null && (
                      <Text size="xs" c="red">
                        the limit on {stepName(`${forecast.reaches_limit_on}T00:00:00Z`, 'day')}
                      </Text>
                    )}
                  </>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
