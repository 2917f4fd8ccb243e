import { Anchor, Button, Group, Text } from '@mantine/core'
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'

import { domainsQuery } from '../../api/queries.ts'
import { useMe } from '../../api/session.ts'
import { trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { Domain, TrafficSummary } from '../../api/types.ts'
import { crawlerName } from '../../crawler-categories.ts'
import { count, counted, percent } from '../../format.ts'
import { DnsBadge, DomainBadges } from '../../parts/badges.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Note, Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { UsageBar } from '../../parts/usage-bar.tsx'
import { domainPath } from '../../route-map.ts'
import classes from './domains.module.css'
import { FirstSteps } from './getting-started.tsx'

const AddDomain = lazy(() => import('./add-domain.tsx'))

export default function Domains() {
  const domains = useQuery(domainsQuery)
  const [isAdding, setAdding] = useState(false)
  const { site_limit: limit } = useMe().plan
  const used = domains.data?.length ?? 0
  const isFull = limit !== null && used >= limit
  const add = (
    <Button
      leftSection={<IconPlus size={18} aria-hidden />}
      onClick={() => setAdding(true)}
      disabled={domains.data === undefined || isFull}
    >
      Add a domain
    </Button>
  )
  return (
    <Page title="Domains" lead={planText(domains.data?.length, limit)} actions={used > 0 ? add : undefined}>
      <Loaded query={domains}>
        {(list) => (list.length === 0 ? <FirstSteps add={add} /> : <DomainTable domains={list} />)}
      </Loaded>
      {isAdding && (
        <Suspense fallback={null}>
          <AddDomain onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </Page>
  )
}

/** `used` is undefined until the domains are loaded. */
function planText(used: number | undefined, limit: number | null): string {
  if (limit === null) return 'Crawlers of these sites get rendered pages.'
  if (used === undefined) return `Up to ${counted(limit, 'site')} in your plan.`
  const text = `${count(used)} of ${counted(limit, 'site')} in your plan.`
  return used < limit ? text : `${text} Ask the operator for a larger plan to add more.`
}

function DomainTable({ domains }: { domains: readonly Domain[] }) {
  const summaries = useQuery(trafficSummariesQuery)
  const byName = new Map(summaries.data?.map((summary) => [summary.domain, summary]))
  return (
    <div className="sheet sheet-flush">
      <DataTable
        rows={domains}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Domain', className: classes.name, cell: (domain) => <DomainName domain={domain} /> },
          {
            title: 'State',
            className: classes.state,
            cell: ({ custom_domain, is_active, ssl_enabled }) => (
              <Group gap={6}>
                <DomainBadges isActive={is_active} hasCertificate={ssl_enabled} />
                {!ssl_enabled && <DnsBadge domain={custom_domain} />}
              </Group>
            ),
          },
          {
            title: 'Hit ratio',
            kind: 'labelled',
            cell: ({ custom_domain }) => <HitRatios summary={byName.get(custom_domain)} />,
          },
          {
            title: 'Last crawler',
            kind: 'labelled',
            className: classes.crawler,
            cell: ({ custom_domain }) => <LastCrawler summary={byName.get(custom_domain)} />,
          },
          {
            title: 'Renders this month',
            className: classes.quota,
            cell: ({ renders_used, monthly_render_limit }) => (
              <UsageBar name="Renders used" used={renders_used} limit={monthly_render_limit} />
            ),
          },
        ]}
      />
    </div>
  )
}

function DomainName({ domain: { custom_domain, origin_url } }: { domain: Domain }) {
  return (
    <>
      <Anchor component={Link} href={domainPath('domain', custom_domain)} fw={600} className="break">
        {custom_domain}
      </Anchor>
      <Note size="sm" className="break">
        {origin_url}
      </Note>
    </>
  )
}

/** The hit ratio of the last day, and below it that of the week. */
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
        {crawlerName(last.name)}
      </Text>
      <Text size="xs" className="quiet" component="span" display="block">
        <TimeText at={last.at} />
      </Text>
    </>
  )
}
