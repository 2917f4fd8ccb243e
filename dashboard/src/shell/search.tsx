import { useDebouncedValue } from '@mantine/hooks'
import IconAdjustments from '@tabler/icons-react/dist/esm/icons/IconAdjustments.mjs'
import IconBolt from '@tabler/icons-react/dist/esm/icons/IconBolt.mjs'
import IconBook from '@tabler/icons-react/dist/esm/icons/IconBook.mjs'
import IconFileText from '@tabler/icons-react/dist/esm/icons/IconFileText.mjs'
import IconUserCircle from '@tabler/icons-react/dist/esm/icons/IconUserCircle.mjs'
import IconWorld from '@tabler/icons-react/dist/esm/icons/IconWorld.mjs'
import { queryOptions, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { domainsQuery, pagesQuery } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useRights } from '../api/rights.ts'
import { useSession } from '../api/session.ts'
import type { Domain, ListedPage } from '../api/types.ts'
import { Finder, type Found } from '../find/finder.tsx'
import { rank } from '../find/rank.ts'
import { recentlyUsed, rememberUse } from '../find/recent.ts'
import { showNamedPlace } from '../parts/addressed.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Note } from '../parts/page.tsx'
import { domainPath, pagePath, ROUTES, settingsPath } from '../route-map.ts'
import { FOUND_SETTINGS } from '../screens/settings/setting-fields.ts'
import { settingsPagesFor } from '../screens/settings/settings-pages.ts'
import { ACCOUNT_ACTIONS, type Deed, SITE_ACTIONS } from './actions.ts'
import { DOMAIN_TABS } from './domain-tabs.ts'
import { SCREENS } from './navigation.ts'
import { SCREEN_WORDS } from './screen-words.ts'

/** `of`: the place is the same for each site, and the site must be chosen first. */
type Result = Found & { words?: string; isNear?: boolean; deed: Deed | { of: (domain: string) => string } }

const SHOWN = 40

type May = ReturnType<typeof useRights>

/** Finds sites, pages, screens, settings, actions and documents. */
export default function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  /** What was chosen before its site. */
  const [chosen, setChosen] = useState<{ title: string; of: (domain: string) => string } | null>(null)
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const { person } = useSession()
  const searched = useDeferredValue(text)
  const { results, domain, isSearching } = useResults(searched)
  const sites = useQuery(domainsQuery).data ?? []

  const go = (to: string) => {
    onClose()
    // The API reference is not a dashboard screen.
    if (to.startsWith('/docs')) location.assign(to)
    else {
      navigate(to)
      // For a screen that is open already.
      window.dispatchEvent(new HashChangeEvent('hashchange'))
      showNamedPlace()
    }
  }
  const open = ({ key, title, deed }: Result) => {
    rememberUse(person.id, key)
    if ('to' in deed) go(deed.to)
    else if ('run' in deed) {
      onClose()
      void deed.run(queries)
    } else {
      setChosen({ title, of: deed.of })
      setText('')
    }
  }
  if (chosen !== null) {
    const items = siteResults(sites)
    return (
      <Dialog title={`${chosen.title}: of which site?`} onClose={onClose}>
        <Finder
          label="Search sites"
          text={text}
          onText={setText}
          results={rank(items, text).slice(0, SHOWN)}
          onOpen={({ title }) => go(chosen.of(title))}
        />
      </Dialog>
    )
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <Finder
        label="Search sites, pages, screens, settings and actions"
        text={text}
        onText={setText}
        results={results}
        onOpen={open}
        isBusy={isSearching}
        areLate={searched !== text}
      />
      <Note role="status" mt="sm">
        {results.length === 0 && !isSearching ? 'Nothing found. ' : ''}
        {domain === null ? 'Open a domain to search its pages' : `Searching pages of ${domain}`}. Outside this
        field, ? lists the keys.
      </Note>
    </Dialog>
  )
}

function useResults(text: string) {
  const [location] = useLocation()
  const { account, person } = useSession()
  const may = useRights()
  const sites = useQuery({ ...domainsQuery, enabled: account !== null }).data
  const domain = domainInSight(location, sites ?? [])
  const [search] = useDebouncedValue(text.trim(), 200)
  const pages = useInfiniteQuery({
    ...pagesQuery(domain ?? '', { search, match: 'contains', by: 'path', isDescending: false }),
    enabled: domain !== null && search !== '' && may('listPages'),
  })
  const operations = useQuery({ ...operationsQuery, enabled: search.length >= 3 })
  // Rights change with the session only.
  const known = useMemo(
    () => [
      ...screenResults(may, person.is_operator),
      ...(domain === null ? [] : tabResults(may, domain)),
      ...siteResults(sites ?? []),
      ...actionResults(may, person.is_operator),
      ...settingResults(may, domain),
      ...siteActionResults(may, sites ?? [], domain),
    ],
    [account, person, domain, sites],
  )
  const recent = useMemo(() => recentlyUsed(person.id), [person.id])
  const documents = search === '' ? [API_REFERENCE] : (operations.data ?? [API_REFERENCE])
  const listed = domain === null || search === '' ? [] : (pages.data?.pages[0]?.pages ?? [])
  const all = [...known, ...pageResults(domain ?? '', listed), ...documents]
  const results = rank(all, text, recent).slice(0, SHOWN)
  return { results, domain, isSearching: pages.isFetching || search !== text.trim() }
}

const PAGES = 10

/** The domain of the open screen, or the only one. */
function domainInSight(location: string, sites: readonly Domain[]): string | null {
  const inAddress = /^\/domains\/([^/]+)/.exec(location)?.[1]
  if (inAddress !== undefined && location !== ROUTES.addDomain) return decodeURIComponent(inAddress)
  return sites.length === 1 ? sites[0]!.custom_domain : null
}

function screenResults(may: May, isOperator: boolean): Result[] {
  const shown = SCREENS.filter(({ group, needs }) =>
    group === 'Operator' ? isOperator : needs === undefined || may(needs),
  )
  const screens: Result[] = shown.map(({ title, to, Icon, group }) => ({
    key: to,
    title,
    words: `${SCREEN_WORDS[to] ?? ''} ${group ?? ''}`,
    kind: 'Screen',
    Icon,
    deed: { to },
  }))
  const own: Result[] = OWN_SCREENS.map(({ title, words, place }) => ({
    key: `own ${place}`,
    title,
    words,
    kind: 'Your settings',
    Icon: IconUserCircle,
    deed: { to: `${ROUTES.security}#${place}` },
  }))
  return [...screens, ...own]
}

const OWN_SCREENS = [
  { title: 'Profile', words: 'me e-mail address name', place: 'profile' },
  {
    title: 'Password and second factors',
    words: 'security passkey authenticator TOTP recovery codes 2FA',
    place: 'factors',
  },
  { title: 'Sessions', words: 'signed-in browsers devices sign out everywhere', place: 'sessions' },
]

function tabResults(may: May, domain: string): Result[] {
  const tabs = DOMAIN_TABS.filter(({ needs }) => may(needs))
  return tabs.map(({ title, route, Icon, words }) => ({
    key: `${route} ${domain}`,
    title: `${title} of ${domain}`,
    words,
    kind: 'Screen',
    Icon,
    deed: { to: domainPath(route, domain) },
  }))
}

function siteResults(sites: readonly Domain[]): Result[] {
  return sites.map(({ custom_domain: name }) => ({
    key: `site ${name}`,
    title: name,
    kind: 'Site',
    Icon: IconWorld,
    deed: { to: domainPath('domain', name) },
  }))
}

function actionResults(may: May, isOperator: boolean): Result[] {
  const allowed = ACCOUNT_ACTIONS.filter(({ needs }) => (needs === 'operator' ? isOperator : may(needs)))
  return allowed.map(({ title, words, deed }) => ({
    key: `action ${title}`,
    title,
    words,
    kind: 'Action',
    Icon: IconBolt,
    deed,
  }))
}

/** Actions of the open site come first. */
function siteActionResults(may: May, all: readonly Domain[], open: string | null): Result[] {
  const sites = all.toSorted((a, b) => Number(b.custom_domain === open) - Number(a.custom_domain === open))
  return SITE_ACTIONS.filter(({ needs }) => may(needs)).flatMap(({ verb, words, isFor, deed }) => {
    const concerned = isFor === undefined ? sites : sites.filter(isFor)
    return concerned.map(({ custom_domain: name }) => ({
      key: `action ${verb} ${name}`,
      title: `${verb} ${name}`,
      words,
      isNear: name === open,
      kind: 'Action',
      Icon: IconBolt,
      deed: deed(name),
    }))
  })
}

/** Pages of settings and single settings: of the open domain, or of one that is chosen then. */
function settingResults(may: May, domain: string | null): Result[] {
  const pages = settingsPagesFor(may)
  const ofPages = pages.map(({ page, title, words }) => ({ key: page, page, title, words }))
  const ofSettings = FOUND_SETTINGS.filter(({ page }) => pages.some((shown) => shown.page === page)).map(
    ({ name, page, label, words }) => ({
      key: `${page} ${name}`,
      page,
      title: label,
      words: `${words} ${pages.find((shown) => shown.page === page)?.title ?? ''}`,
      name,
    }),
  )
  return [...ofPages, ...ofSettings].map(({ key, page, title, words, ...setting }) => {
    const name = 'name' in setting ? setting.name : undefined
    const of = (site: string) => settingsPath(site, page, name)
    return {
      key: `setting ${key}`,
      title,
      words,
      kind: domain === null ? 'Setting' : `Setting of ${domain}`,
      Icon: IconAdjustments,
      deed: domain === null ? { of } : { to: of(domain) },
    }
  })
}

function pageResults(domain: string, pages: readonly ListedPage[]): Result[] {
  return pages.slice(0, PAGES).map(({ path }) => ({
    key: `page ${domain} ${path}`,
    title: path,
    kind: 'Page',
    Icon: IconFileText,
    deed: { to: pagePath(domain, path) },
  }))
}

const API_REFERENCE: Result = {
  key: '/docs',
  title: 'API reference',
  words: 'documentation docs OpenAPI help HTTP routes',
  kind: 'Docs',
  Icon: IconBook,
  deed: { to: '/docs' },
}

type OpenApi = {
  paths: Record<string, Record<string, { operationId?: string; summary?: string; tags?: string[] }>>
}

/** The routes of the API, each with its place in the reference. */
const operationsQuery = queryOptions({
  queryKey: ['openapi'],
  queryFn: async ({ signal }): Promise<Result[]> => {
    const { paths } = await request<OpenApi>('GET', '/openapi.json', { signal })
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId, summary, tags = [] }]) => {
        if (operationId === undefined || tags[0] === undefined) return []
        return {
          key: `docs ${operationId}`,
          title: `${method.toUpperCase()} ${path}`,
          words: `${summary ?? ''} ${operationId}`,
          kind: 'Docs',
          Icon: IconBook,
          deed: { to: `/docs#/${encodeURIComponent(tags[0])}/${operationId}` },
        }
      }),
    )
    return [API_REFERENCE, ...routes]
  },
  staleTime: Number.POSITIVE_INFINITY,
})
