import { Anchor, Group, Menu } from '@mantine/core'
import type { Action } from '@prepaint/contract/roles.ts'
import IconSelector from '@tabler/icons-react/dist/esm/icons/IconSelector.mjs'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link, Redirect } from 'wouter'
import { ApiError } from '../../api/api-error.ts'
import { domainQuery, domainsQuery, integrationsQuery } from '../../api/queries.ts'
import { useRights } from '../../api/rights.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { DomainBadges } from '../../parts/badges.tsx'
import { Editable } from '../../parts/may.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded, Loading, NotFound } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { type DomainRoute, domainPath, ROUTES } from '../../route-map.ts'
import { DOMAIN_TABS } from '../../shell/navigation.ts'
import { DomainOverview } from './overview.tsx'

const Cache = lazy(() => import('../cache/cache.tsx'))
const Traffic = lazy(() => import('../traffic/traffic.tsx'))
const Renders = lazy(() => import('./renders.tsx'))
const Inspection = lazy(() => import('../page/inspection.tsx'))
const SiteFiles = lazy(() => import('../site-files/site-files.tsx'))
const CrawlerPolicy = lazy(() => import('../site-files/crawler-policy.tsx'))
const Settings = lazy(() => import('../settings/settings.tsx'))

/** The screens of a domain, by the last part of their address. The screen of one page belongs to the cache tab. */
const SCREENS = [
  { part: undefined, route: 'domain', Screen: DomainOverview },
  { part: 'traffic', route: 'domainTraffic', Screen: Traffic },
  { part: 'cache', route: 'domainCache', Screen: Cache },
  { part: 'pages', route: 'domainCache', Screen: Inspection },
  { part: 'renders', route: 'domainRenders', Screen: Renders },
  { part: 'site-files', route: 'domainSiteFiles', Screen: SiteFiles, edits: 'replaceRedirects' },
  { part: 'crawlers', route: 'domainCrawlers', Screen: CrawlerPolicy, edits: 'updateDomain' },
  { part: 'settings', route: 'domainSettings', Screen: Settings, edits: 'updateDomain' },
] as const satisfies readonly DomainPart[]

type DomainPart = {
  part: string | undefined
  route: DomainRoute
  Screen: React.ComponentType<{ domain: DomainWithSettings }>
  /** The screen is there to do this; roles that may not do it only look. */
  edits?: Action
}

export default function DomainScreen({ domain: name, part }: { domain: string; part: string | undefined }) {
  const domain = useQuery(domainQuery(name))
  const may = useRights()
  const integrations = useQuery({ ...integrationsQuery, enabled: may('listIntegrations') })
  const shown: DomainPart | undefined = SCREENS.find((screen) => screen.part === part)
  // The former address of the tokens.
  if (part === 'tokens') return <Redirect to={domainPath('domainCache', name)} replace />
  if (shown === undefined) return <NotFound />
  const tabs = DOMAIN_TABS.filter(({ needs }) => may(needs))
  // Clients have no overview: it is about what they do not see.
  if (!tabs.some(({ route }) => route === shown.route)) {
    return part === undefined ? <Redirect to={domainPath('domainTraffic', name)} replace /> : <NotFound />
  }

  const { Screen, edits } = shown
  const isUnknown = domain.error instanceof ApiError && domain.error.status === 404
  return (
    <Page
      title={domain.data?.custom_domain ?? name}
      above={
        <Group gap="md">
          <Anchor component={Link} href={ROUTES.domains} size="sm">
            All sites
          </Anchor>
          <DomainSwitcher current={name} route={shown.route} />
        </Group>
      }
      lead={
        domain.data && (
          <Group gap={6} mt={4}>
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
                {edits === undefined ? (
                  <Screen domain={data} />
                ) : (
                  <Editable action={edits}>
                    <Screen domain={data} />
                  </Editable>
                )}
              </Suspense>
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}

const SWITCHER_MOST = 20

function DomainSwitcher({ current, route }: { current: string; route: DomainRoute }) {
  const domains = useQuery(domainsQuery)
  const others = domains.data?.filter(({ custom_domain }) => custom_domain !== current) ?? []
  if (others.length === 0) return null
  return (
    <Menu position="bottom-start" withinPortal>
      <Menu.Target>
        <Anchor component="button" type="button" size="sm">
          Switch domain <IconSelector size={14} aria-hidden />
        </Anchor>
      </Menu.Target>
      <Menu.Dropdown>
        {others.slice(0, SWITCHER_MOST).map(({ id, custom_domain: name }) => (
          <Menu.Item key={id} component={Link} href={domainPath(route, name)}>
            {name}
          </Menu.Item>
        ))}
        {others.length > SWITCHER_MOST && <Menu.Label>Find more with Ctrl K</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  )
}
