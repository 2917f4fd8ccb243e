import { Alert, Anchor, Stack, Text } from '@mantine/core'
import { outcomeWords } from '@prepaint/contract/outcome/words.ts'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import { checklistQuery } from '../../api/checklist-query.ts'
import { incidentsQuery } from '../../api/notification-queries.ts'
import { siteQuery } from '../../api/portfolio-queries.ts'
import { certificateQuery, pageCountQuery, rendersQuery } from '../../api/queries.ts'
import { useRights } from '../../api/rights.ts'
import type { Certificate, DomainWithSettings } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { Facts, Note, Section } from '../../parts/page.tsx'
import { Loaded, Loading } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { UsageBar } from '../../parts/usage-bar.tsx'
import { domainPath, settingsPath } from '../../route-map.ts'
import { WorstIncident } from '../notifications/incidents.tsx'
import { AskedProof } from './asked-proof.tsx'
import { ClientOverview } from './client-overview.tsx'
import { FrontSection } from './front.tsx'
import { DomainSteps } from './getting-started.tsx'
import { WeekFigures } from './week-figures.tsx'

const HomePageBeside = lazy(() => import('./home-page-beside.tsx'))

export function DomainOverview({ domain }: { domain: DomainWithSettings }) {
  const may = useRights()
  // Most of it is about what clients do not see.
  if (!may('getCertificate')) return <ClientOverview domain={domain.custom_domain} />
  return <WholeOverview domain={domain} />
}

function WholeOverview({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const steps = useQuery(checklistQuery(name))
  const incidents = useQuery(incidentsQuery(name))
  const site = useQuery(siteQuery(name))
  const isLoading = [steps, incidents, site].some(({ data, error }) => data === undefined && error === null)
  // What stands below would jump when they are loaded.
  if (isLoading) return <Loading rows={6} />
  const hasOpen = incidents.data?.some(({ state }) => state === 'open') ?? false
  const first = steps.data?.items.find(({ item }) => item === 'crawler')
  const isBeforeFirst = first !== undefined && first.done_at === null
  return (
    <Stack gap="lg">
      {incidents.data !== undefined && <WorstIncident incidents={incidents.data} />}
      {!domain.is_active && (
        <Alert color="yellow" title="This domain is paused">
          Crawlers get the origin, like people. Turn it on in the{' '}
          <Anchor component={Link} href={settingsPath(name, 'site', 'is_active')} inherit underline="always">
            settings
          </Anchor>
          .
        </Alert>
      )}
      <AskedProof domain={name} />
      {isBeforeFirst && <DomainSteps domain={domain} />}
      {isBeforeFirst && (
        <Suspense fallback={null}>
          <HomePageBeside domain={name} />
        </Suspense>
      )}
      {incidents.data !== undefined && !hasOpen && (
        <div className="sheet" role="status" aria-label="Health">
          <Text>Nothing wrong.</Text>
        </div>
      )}
      {site.data != null && <WeekFigures site={site.data} />}
      {/* How a site does comes before what is left to set up. */}
      {!isBeforeFirst && <DomainSteps domain={domain} />}
      <FrontSection domain={domain} />
      <div className="columns">
        <CurrentState domain={domain} />
        <Section
          title="Renders this month"
          lead="Only pages that were cached or served count. Months are in UTC."
        >
          <UsageBar name="Renders used" used={domain.renders_used} limit={domain.monthly_render_limit} />
          <Note size="sm">
            At 120 % of the limit rendering stops: crawlers get cached pages, or the origin if a page is not
            cached.
          </Note>
        </Section>
        {domain.settings.way === 'dns' && <CertificateSection domain={name} />}
      </div>
    </Stack>
  )
}

function CurrentState({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  return (
    <Section title="Current state">
      <Facts
        rows={[
          ['Origin', domain.origin_url],
          ['Cached pages', <PageCount key="pages" domain={name} />],
          ['Last render', <LastRender key="render" domain={name} />],
          ['Added', <TimeText key="added" at={domain.created_at} />],
        ]}
      />
    </Section>
  )
}

function PageCount({ domain }: { domain: string }) {
  const { data } = useQuery(pageCountQuery(domain))
  if (data === undefined) return '…'
  return (
    <Anchor component={Link} href={domainPath('domainPages', domain)} size="sm">
      {counted(data, 'page')}
    </Anchor>
  )
}

function LastRender({ domain }: { domain: string }) {
  const { data } = useQuery(rendersQuery(domain))
  if (data === undefined) return '…'
  const [last] = data
  if (last === undefined) return 'none in the last week'
  return (
    <>
      {last.path}: {outcomeWords(last.outcome)}, <TimeText at={last.ended_at} />
    </>
  )
}

/** The certificate in use, and what is known of the order of the next one. */
export function CertificateSection({ domain }: { domain: string }) {
  const certificate = useQuery({ ...certificateQuery(domain), refetchInterval: 30_000 })
  return (
    <Section title="Certificate">
      <Loaded query={certificate} rows={2}>
        {(found) => <CertificateFacts found={found} />}
      </Loaded>
    </Section>
  )
}

function CertificateFacts({ found: { certificate, order } }: { found: Certificate }) {
  const isOwn = certificate?.source === 'own'
  return (
    <Stack gap="sm">
      {certificate === null ? (
        <Text size="sm">
          No certificate yet. It is ordered automatically once the DNS points here, if the operator has
          configured a certificate authority.
        </Text>
      ) : (
        <Facts
          rows={[
            ['Names', certificate.names.join(', ')],
            ['Issuer', isOwn ? `${certificate.issuer} (your own)` : certificate.issuer],
            ['Expires', <TimeText key="expires" at={certificate.not_after} />],
          ]}
        />
      )}
      {order.last_error !== null && (
        <Alert color="yellow" title="The last order failed">
          <span className="break">{order.last_error}</span>
        </Alert>
      )}
      {!isOwn && <NextOrder at={order.next_attempt_at} />}
    </Stack>
  )
}

function NextOrder({ at }: { at: string | null }) {
  if (at === null || Date.parse(at) <= Date.now()) return null
  return (
    <Note size="sm">
      Next order: <TimeText at={at} />
    </Note>
  )
}
