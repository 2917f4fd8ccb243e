import { Anchor, Button, Group, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'

import type { Domain } from '../api-types.ts'
import { ActiveBadge, HttpsBadge } from '../parts/domain-state.tsx'
import { Page } from '../parts/page.tsx'
import { counted, QuotaBar } from '../parts/quota-bar.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { domainsQuery } from '../queries.ts'
import { domainPath } from '../route-map.ts'
import { useMe } from '../signed-in.tsx'
import { AddDomain } from './add-domain.tsx'
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
  return (
    <div className="sheet sheet-flush">
      <Table verticalSpacing="md" horizontalSpacing="lg" className="stacking">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Domain</Table.Th>
            <Table.Th>State</Table.Th>
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
                </Group>
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
