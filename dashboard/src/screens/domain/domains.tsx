import { Anchor, Button, Group, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { domainsQuery } from '../../api/queries.ts'
import { useMe } from '../../api/session.ts'
import { trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { Domain, TrafficSummary } from '../../api/types.ts'
import { percent } from '../../format.ts'
import { ActiveBadge, HttpsBadge } from '../../parts/domain-state.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { counted, QuotaBar } from '../../parts/usage-bar.tsx'
import { domainPath } from '../../route-map.ts'
import { AddDomain } from './add-domain.tsx'
import { DnsBadge } from './dns-state.tsx'
import classes from './domains.module.css'

export function Domains() {
  const domains = useQuery(domainsQuery)
  const [isAdding, setAdding] = useState(false)
  const { site_limit: limit } = useMe().plan
  const used = domains.data?.length ?? 0
  const isFull = limit !== null && used >= limit
  const add = (
    <Button onClick={() => setAdding(true)} disabled={domains.data === undefined || isFull}>
      Add a domain
    </Button>
  )
  return (
    <Page
      title="Domains"
      lead={
        limit === null
          ? 'The sites whose crawlers get finished pages.'
          : `${used} of ${counted(limit, 'site')} of your plan.${isFull && domains.data !== undefined ? ' For more, ask the operator for a larger plan.' : ''}`
      }
      actions={used > 0 ? add : undefined}
    >
      {domains.data === undefined ? (
        domains.error === null ? (
          <Loading />
        ) : (
          <Trouble error={domains.error} onRetry={() => domains.refetch()} />
        )
      ) : used === 0 ? (
        <div className="sheet">
          <Empty title="Add your first site" action={add}>
            Name the domain that visitors use and where the site runs. Crawlers then get finished pages;
            people get your site, untouched.
          </Empty>
        </div>
      ) : (
        <DomainTable domains={domains.data} />
      )}
      {isAdding && <AddDomain onClose={() => setAdding(false)} />}
    </Page>
  )
}

function DomainTable({ domains }: { domains: readonly Domain[] }) {
  // The list is there before it: what it says of each comes into its place.
  const summaries = useQuery(trafficSummariesQuery)
  const byName = new Map(summaries.data?.map((summary) => [summary.domain, summary]))
  return (
    <div className="sheet sheet-flush">
      <Table verticalSpacing="md" horizontalSpacing="lg" className="stacking">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Domain</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Hit ratio</Table.Th>
            <Table.Th className={classes.single}>Last crawler</Table.Th>
            <Table.Th>Renders this month</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {domains.map((domain) => (
            <Table.Tr key={domain.id}>
              <Table.Td>
                <Anchor
                  component={Link}
                  href={domainPath('domain', domain.custom_domain)}
                  fw={600}
                  className="break"
                >
                  {domain.custom_domain}
                </Anchor>
                <Text size="sm" className="quiet break">
                  {domain.origin_url}
                </Text>
              </Table.Td>
              <Table.Td>
                <Group gap={6}>
                  <ActiveBadge isActive={domain.is_active} />
                  <HttpsBadge hasCertificate={domain.ssl_enabled} />
                  {!domain.ssl_enabled && <DnsBadge domain={domain.custom_domain} />}
                </Group>
              </Table.Td>
              <Table.Td data-label="Hit ratio">
                <HitRatios summary={byName.get(domain.custom_domain)} />
              </Table.Td>
              <Table.Td data-label="Last crawler">
                <LastCrawler summary={byName.get(domain.custom_domain)} />
              </Table.Td>
              <Table.Td className={classes.quota}>
                <QuotaBar used={domain.renders_used} limit={domain.monthly_render_limit} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

/** Of the last day, and of the week beneath it. */
function HitRatios({ summary }: { summary: TrafficSummary | undefined }) {
  if (summary === undefined) return <span className="quiet">…</span>
  if (summary.week.pages === 0) return <span className="quiet">no crawler this week</span>
  return (
    <>
      <Text size="sm" fw={600} className="number" component="span" display="block">
        {percent(summary.day.hit_ratio)} <span className={`quiet ${classes.light}`}>in 24 h</span>
      </Text>
      <Text size="xs" className="quiet number" component="span" display="block">
        {percent(summary.week.hit_ratio)} in 7 days
      </Text>
    </>
  )
}

function LastCrawler({ summary }: { summary: TrafficSummary | undefined }) {
  if (summary === undefined) return <span className="quiet">…</span>
  const last = summary.last_crawler
  if (last === null) return <span className="quiet">none yet</span>
  return (
    <>
      <Text size="sm" component="span" display="block">
        {last.name}
      </Text>
      <Text size="xs" className="quiet" component="span" display="block">
        <TimeText at={last.at} />
      </Text>
    </>
  )
}
