import { Anchor, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link, Redirect } from 'wouter'

import { domainQuery } from '../../api/queries.ts'
import { ApiError } from '../../api/request.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { DomainBadges } from '../../parts/badges.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded, Loading, NotFound } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { type DomainRoute, domainPath, ROUTES } from '../../route-map.ts'
import { DomainOverview } from './overview.tsx'

const Cache = lazy(() => import('../cache/cache.tsx'))
const Traffic = lazy(() => import('../traffic/traffic.tsx'))
const Renders = lazy(() => import('./renders.tsx'))
const Inspection = lazy(() => import('../page/inspection.tsx'))
const Settings = lazy(() => import('../settings/settings.tsx'))

const TABS = [
  { part: undefined, route: 'domain', title: 'Overview', Screen: DomainOverview },
  { part: 'traffic', route: 'domainTraffic', title: 'Traffic', Screen: Traffic },
  { part: 'cache', route: 'domainCache', title: 'Cache', Screen: Cache },
  { part: 'renders', route: 'domainRenders', title: 'Renders', Screen: Renders },
  { part: 'settings', route: 'domainSettings', title: 'Settings', Screen: Settings },
] as const satisfies readonly {
  part: string | undefined
  route: DomainRoute
  title: string
  Screen: React.ComponentType<{ domain: DomainWithSettings }>
}[]

/** The screen of one page belongs to the cache and has no tab. */
const INSPECTION = { part: 'pages', route: 'domainCache', title: 'Page', Screen: Inspection } as const

export default function DomainScreen({ domain: name, part }: { domain: string; part: string | undefined }) {
  const domain = useQuery(domainQuery(name))
  const shown = [...TABS, INSPECTION].find((each) => each.part === part)
  // The former address of the tokens.
  if (part === 'tokens') return <Redirect to={domainPath('domainCache', name)} replace />
  if (shown === undefined) return <NotFound />

  const { Screen } = shown
  const isUnknown = domain.error instanceof ApiError && domain.error.status === 404
  return (
    <Page
      title={domain.data?.custom_domain ?? name}
      above={
        <Anchor component={Link} href={ROUTES.domains} size="sm">
          All domains
        </Anchor>
      }
      lead={
        domain.data && (
          <Group gap={6} mt={4}>
            <DomainBadges isActive={domain.data.is_active} hasCertificate={domain.data.ssl_enabled} />
          </Group>
        )
      }
    >
      {isUnknown ? (
        <Empty title="You have no such domain">It may be deleted, or belong to another account.</Empty>
      ) : (
        <Loaded query={domain}>
          {(data) => (
            <>
              <Tabs
                label="This domain"
                tabs={TABS.map(({ route, title }) => ({
                  title,
                  href: domainPath(route, name),
                  isShown: route === shown.route,
                }))}
              />
              <Suspense fallback={<Loading />}>
                <Screen domain={data} />
              </Suspense>
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}
