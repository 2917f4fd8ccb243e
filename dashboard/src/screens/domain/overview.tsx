import { Alert, Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { certificateQuery, pageCountQuery, rendersQuery } from '../../api/queries.ts'
import type { Certificate, DomainWithSettings } from '../../api/types.ts'
import { Section } from '../../parts/page.tsx'
import { Loading, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { counted, QuotaBar } from '../../parts/usage-bar.tsx'
import { domainPath } from '../../route-map.ts'
import { DnsInstructions } from './dns.tsx'

export function DomainOverview({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const pages = useQuery(pageCountQuery(name))
  const renders = useQuery(rendersQuery(name))
  // Ours of addresses that do not exist tell the owner nothing.
  const last = renders.data?.find(({ outcome }) => outcome !== 'probed')
  return (
    <Stack gap="lg">
      {!domain.is_active && (
        <Alert color="yellow" title="This domain is paused">
          Crawlers get the origin, as people do.{' '}
          <Link href={domainPath('domainSettings', name)}>Settings</Link> has the switch.
        </Alert>
      )}
      <div className="columns">
        <Section title="Now">
          <dl className="facts">
            <dt>Origin</dt>
            <dd>{domain.origin_url}</dd>
            <dt>Stored pages</dt>
            <dd>
              {pages.data === undefined ? (
                '…'
              ) : (
                <Anchor component={Link} href={domainPath('domainCache', name)}>
                  {counted(pages.data, 'page')}
                </Anchor>
              )}
            </dd>
            <dt>Last render</dt>
            <dd>
              {renders.data === undefined ? (
                '…'
              ) : last === undefined ? (
                'none in the last week'
              ) : (
                <>
                  {last.path}: {last.outcome}, <TimeText at={last.ended_at} />
                </>
              )}
            </dd>
            <dt>Registered</dt>
            <dd>
              <TimeText at={domain.created_at} />
            </dd>
          </dl>
        </Section>
        <Section
          title="Renders this month"
          lead="Only pages that were stored or served count. Months are UTC."
        >
          <QuotaBar used={domain.renders_used} limit={domain.monthly_render_limit} />
          <Text size="sm" className="quiet">
            At 120 % of the limit nothing more is rendered: crawlers get what is stored, else the origin.
          </Text>
        </Section>
        <CertificateSection name={name} />
      </div>
      <Section title="Lead visitors here">
        <DnsInstructions domain={name} />
      </Section>
    </Stack>
  )
}

function CertificateSection({ name }: { name: string }) {
  const found = useQuery({ ...certificateQuery(name), refetchInterval: 30_000 })
  return (
    <Section title="Certificate">
      {found.data !== undefined ? (
        <CertificateFacts found={found.data} />
      ) : found.error === null ? (
        <Loading rows={2} />
      ) : (
        <Trouble error={found.error} onRetry={() => found.refetch()} />
      )}
    </Section>
  )
}

function CertificateFacts({ found: { certificate, order } }: { found: Certificate }) {
  return (
    <Stack gap="sm">
      {certificate === null ? (
        <Text size="sm">
          There is none yet. Once the DNS leads here, one is ordered by itself, where the operator has named a
          CA.
        </Text>
      ) : (
        <dl className="facts">
          <dt>For</dt>
          <dd>{certificate.names.join(', ')}</dd>
          <dt>By</dt>
          <dd>{certificate.source === 'own' ? `${certificate.issuer} (your own)` : certificate.issuer}</dd>
          <dt>Ends</dt>
          <dd>
            <TimeText at={certificate.not_after} />
          </dd>
        </dl>
      )}
      {order.last_error !== null && (
        <Alert color="yellow" title="The last attempt came to nothing">
          <span className="break">{order.last_error}</span>
        </Alert>
      )}
      {order.next_attempt_at !== null && Date.parse(order.next_attempt_at) > Date.now() && (
        <Text size="sm" className="quiet">
          Next looked for: <TimeText at={order.next_attempt_at} />
        </Text>
      )}
    </Stack>
  )
}
