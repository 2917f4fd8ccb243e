import { Anchor, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link, Redirect, useSearchParams } from 'wouter'
import { ApiError } from '../../api/api-error.ts'
import { domainQuery, integrationsQuery } from '../../api/queries.ts'
import { useRights } from '../../api/rights.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { DomainBadges } from '../../parts/badges.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded, Loading, NotFound } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { type DomainRoute, domainPath, ROUTES, settingsPath } from '../../route-map.ts'
import { DOMAIN_TABS } from '../../shell/domain-tabs.ts'
import { settingsPagesFor } from '../settings/settings-pages.ts'
import { DomainSwitcher } from './domain-switcher.tsx'
import { DomainOverview } from './overview.tsx'

const Cache = lazy(() => import('../cache/cache.tsx'))
const Traffic = lazy(() => import('../traffic/traffic.tsx'))
const Renders = lazy(() => import('./renders.tsx'))
const Inspection = lazy(() => import('../page/inspection.tsx'))
const Settings = lazy(() => import('../settings/settings.tsx'))

type ScreenProps = { domain: DomainWithSettings; page: string }

/** The screens of a domain, by the last part of their address. */
const SCREENS = [
  { part: undefined, route: 'domain', Screen: DomainOverview },
  { part: 'traffic', route: 'domainTraffic', Screen: Traffic },
  { part: 'pages', route: 'domainPages', Screen: Pages },
  { part: 'renders', route: 'domainRenders', Screen: Renders },
  { part: 'settings', route: 'domainSettings', Screen: Settings },
] as const satisfies readonly DomainPart[]

type DomainPart = {
  part: string | undefined
  route: DomainRoute
  Screen: React.ComponentType<ScreenProps>
}

/** `part` and `page` are what the address has after the domain, such as `settings` and `freshness`. */
export default function DomainScreen(props: {
  domain: string
  part: string | undefined
  page: string | undefined
}) {
  const { domain: name, part, page } = props
  const domain = useQuery(domainQuery(name))
  const may = useRights()
  const integrations = useQuery({ ...integrationsQuery, enabled: may('listIntegrations') })
  const [params] = useSearchParams()
  const moved = movedTo(name, part, page, params)
  const shown: DomainPart | undefined = SCREENS.find((screen) => screen.part === part)
  if (moved !== null) return <Redirect to={moved} replace />
  if (shown === undefined) return <NotFound />
  if (
    page !== undefined &&
    (part !== 'settings' || settingsPagesFor(may).every((entry) => entry.page !== page))
  ) {
    return <NotFound />
  }
  const tabs = DOMAIN_TABS.filter(({ needs }) => may(needs))
  const tab = tabs.find(({ route }) => route === shown.route)
  if (tab === undefined) return <NotFound />

  const { Screen } = shown
  /** The path of the stored page that is shown. */
  const stored = part === 'pages' ? params.get('path') : null
  const isUnknown = domain.error instanceof ApiError && domain.error.status === 404
  return (
    <Page
      title={domain.data?.custom_domain ?? name}
      documentTitle={part === undefined ? name : `${stored ?? tab.title} · ${name}`}
      above={
        <Group gap="md" mb={4}>
          <Anchor component={Link} href={ROUTES.domains} size="sm">
            All sites
          </Anchor>
          <DomainSwitcher
            current={name}
            pathOf={(other) =>
              page === undefined ? domainPath(shown.route, other) : pathOfPage(other, page)
            }
          />
        </Group>
      }
      lead={
        domain.data && (
          <Group gap={6} mt={4} className="badges">
            <DomainBadges
              isActive={domain.data.is_active}
              hasCertificate={domain.data.ssl_enabled}
              integration={integrations.data?.find((integration) => integration.domain === name)}
            />
          </Group>
        )
      }
    >
      {isUnknown ? (
        <Empty title="Site not found">This site is not in this account.</Empty>
      ) : (
        <Loaded query={domain}>
          {(data) => (
            <>
              <Tabs
                label="This domain"
                tabs={tabs.map(({ route, title, Icon }) => ({
                  title,
                  Icon,
                  href: domainPath(route, name),
                  isShown: route === shown.route,
                }))}
              />
              <Suspense fallback={<Loading />}>
                <Screen domain={data} page={page ?? ''} />
              </Suspense>
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}

function pathOfPage(domain: string, page: string): string {
  return ROUTES.domainSettingsPage
    .replace(':domain', encodeURIComponent(domain))
    .replace(':page', encodeURIComponent(page))
}

/** The list of stored pages, or the page that the address names. */
function Pages({ domain }: ScreenProps) {
  const [params] = useSearchParams()
  return params.has('path') ? <Inspection domain={domain} /> : <Cache domain={domain} />
}

/** Where an address of an earlier version leads. Null: it is none. */
function movedTo(
  name: string,
  part: string | undefined,
  page: string | undefined,
  params: URLSearchParams,
): string | null {
  if (page !== undefined) return null
  const view = params.get('view')
  switch (part) {
    case 'cache':
      // Links of letters and events have a filter.
      return `${domainPath('domainPages', name)}${params.size === 0 ? '' : `?${params}`}`
    case 'crawlers':
    case 'tokens':
      return settingsPath(name, part)
    case 'site-files':
      return settingsPath(name, view === 'redirects' || view === 'sitemap' ? view : 'robots')
    case 'settings':
      return settingsPath(name, 'site')
    default:
      return null
  }
}
