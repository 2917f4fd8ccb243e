import { Anchor, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link, Redirect } from 'wouter'
import { domainQuery } from '../../api/queries.ts'
import { ApiError } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { ActiveBadge, HttpsBadge } from '../../parts/domain-state.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { type DomainRoute, domainPath, ROUTES } from '../../route-map.ts'
import { NotFound } from '../../shell/not-found.tsx'
import { DomainOverview } from './overview.tsx'

const Cache = lazy(async () => ({ default: (await import('../cache/domain-cache.tsx')).DomainCache }))
const Traffic = lazy(async () => ({ default: (await import('../traffic/domain-traffic.tsx')).DomainTraffic }))
const Renders = lazy(async () => ({ default: (await import('./renders.tsx')).DomainRenders }))
const Lens = lazy(async () => ({ default: (await import('../page/inspection.tsx')).PageLens }))
const SettingsForm = lazy(async () => ({
  default: (await import('../settings/settings.tsx')).DomainSettings,
}))

const PARTS = [
  { part: undefined, route: 'domain', title: 'Overview', Screen: DomainOverview },
  { part: 'traffic', route: 'domainTraffic', title: 'Traffic', Screen: Traffic },
  { part: 'cache', route: 'domainCache', title: 'Cache', Screen: Cache },
  { part: 'renders', route: 'domainRenders', title: 'Renders', Screen: Renders },
  { part: 'settings', route: 'domainSettings', title: 'Settings', Screen: SettingsForm },
] as const satisfies readonly {
  part: string | undefined
  route: DomainRoute
  title: string
  Screen: React.ComponentType<{ domain: DomainWithSettings }>
}[]

/** One page: part of the cache, without a tab of its own. */
const LENS = { part: 'pages', route: 'domainCache', title: 'Page', Screen: Lens } as const

export function DomainScreen({ domain: name, part }: { domain: string; part: string | undefined }) {
  const domain = useQuery(domainQuery(name))
  const shown = [...PARTS, LENS].find((each) => each.part === part)
  // Where tokens were before they came to the cache.
  if (part === 'tokens') return <Redirect to={domainPath('domainCache', name)} replace />
  if (shown === undefined) return <NotFound />

  const back = (
    <Anchor component={Link} href={ROUTES.domains} size="sm">
      All domains
    </Anchor>
  )
  if (domain.data === undefined) {
    const isUnknown = domain.error instanceof ApiError && domain.error.status === 404
    return (
      <Page title={name} above={back}>
        {isUnknown ? (
          <Empty title="You have no such domain">
            It may have been deleted, or belong to another account.
          </Empty>
        ) : domain.error === null ? (
          <Loading />
        ) : (
          <Trouble error={domain.error} onRetry={() => domain.refetch()} />
        )}
      </Page>
    )
  }
  const { Screen } = shown
  return (
    <Page
      title={domain.data.custom_domain}
      above={back}
      lead={
        <Group gap={6} mt={4}>
          <ActiveBadge isActive={domain.data.is_active} />
          <HttpsBadge hasCertificate={domain.data.ssl_enabled} />
        </Group>
      }
    >
      <Tabs
        label="This domain"
        tabs={PARTS.map(({ route, title }) => ({
          title,
          href: domainPath(route, name),
          isShown: route === shown.route,
        }))}
      />
      <Suspense fallback={<Loading />}>
        <Screen domain={domain.data} />
      </Suspense>
    </Page>
  )
}
