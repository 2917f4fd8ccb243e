/** All screens by address. The server answers these and no others. */
export const ROUTES = {
  welcome: '/welcome',
  signIn: '/sign-in',
  ssoConfirmed: '/sign-in/confirmed',
  domains: '/domains',
  addDomain: '/domains/add',
  domain: '/domains/:domain',
  domainPages: '/domains/:domain/pages',
  domainRenders: '/domains/:domain/renders',
  domainSettings: '/domains/:domain/settings',
  domainSettingsPage: '/domains/:domain/settings/:page',
  domainTraffic: '/domains/:domain/traffic',
  // Addresses of earlier versions, which lead on.
  formerCache: '/domains/:domain/cache',
  formerCrawlers: '/domains/:domain/crawlers',
  formerSiteFiles: '/domains/:domain/site-files',
  formerTokens: '/domains/:domain/tokens',
  traffic: '/traffic',
  incidents: '/incidents',
  notifications: '/notifications',
  report: '/report',
  reports: '/reports',
  monthlyReport: '/reports/:month',
  confirm: '/confirm',
  keys: '/keys',
  members: '/members',
  shareLinks: '/share-links',
  shared: '/shared',
  auditLog: '/audit-log',
  plan: '/plan',
  account: '/account',
  security: '/account/security',
  forgotten: '/forgotten-password',
  operatorAccounts: '/operator/accounts',
  operatorNodes: '/operator/nodes',
  operatorQueue: '/operator/queue',
  operatorFailures: '/operator/failures',
} as const

/** The screens of a domain that need nothing but its name. */
export type DomainRoute = 'domain' | 'domainTraffic' | 'domainPages' | 'domainRenders' | 'domainSettings'

export function domainPath(route: DomainRoute, domain: string): string {
  return ROUTES[route].replace(':domain', encodeURIComponent(domain))
}

export type AddStep = 'site' | 'way' | 'connect'

/** The next step for a domain that was added. */
export function addPath(domain: string, step: AddStep): string {
  return `${ROUTES.addDomain}?${new URLSearchParams({ domain, step })}`
}

export type PageView = 'compare' | 'facts' | 'source' | 'renders' | 'history' | 'preview'

export function pagePath(
  domain: string,
  path: string,
  { view = 'compare', variant = 'desktop' }: { view?: PageView; variant?: 'desktop' | 'mobile' } = {},
): string {
  const query = new URLSearchParams({ path })
  if (view !== 'compare') query.set('view', view)
  if (variant !== 'desktop') query.set('variant', variant)
  return `${ROUTES.domainPages.replace(':domain', encodeURIComponent(domain))}?${query}`
}

/** The stored pages of a domain that a filter finds. Its values are separated by commas. */
export function filteredPagesPath(
  domain: string,
  filter: Partial<Record<'status' | 'freshness' | 'outcome' | 'variant' | 'unvisited' | 'search', string>>,
): string {
  return `${domainPath('domainPages', domain)}?${new URLSearchParams(filter)}`
}

/** The renders of a domain with these outcomes, separated by commas; `hours`: of the last hours only. */
export function rendersPath(domain: string, outcome: string, { hours = '', priority = '' } = {}): string {
  const query = new URLSearchParams({ outcome })
  if (hours !== '') query.set('hours', hours)
  if (priority !== '') query.set('priority', priority)
  return `${domainPath('domainRenders', domain)}?${query}`
}

/** The incidents of one domain. */
export function incidentsPath(domain: string): string {
  return `${ROUTES.incidents}?${new URLSearchParams({ domain })}`
}

/** The settings of a domain, a page each. Their order and titles: `screens/settings/settings-pages.ts`. */
export type SettingsPage =
  | 'site'
  | 'freshness'
  | 'paths'
  | 'crawlers'
  | 'rendering'
  | 'forms'
  | 'robots'
  | 'redirects'
  | 'sitemap'
  | 'access'
  | 'certificate'
  | 'tokens'
  | 'delete'

/** `setting`: the field that gets the focus, by the name of its setting. */
export function settingsPath(domain: string, page: SettingsPage, setting?: string): string {
  const path = ROUTES.domainSettingsPage.replace(':domain', encodeURIComponent(domain)).replace(':page', page)
  return setting === undefined ? path : `${path}#${setting}`
}

/** `next` is the screen to return to after signing in. */
export function signInPath(next: string): string {
  if (next === ROUTES.domains || next === '/') return ROUTES.signIn
  return `${ROUTES.signIn}?next=${encodeURIComponent(next)}`
}

const WITHOUT_SESSION: readonly string[] = [
  ROUTES.shared,
  ROUTES.signIn,
  ROUTES.ssoConfirmed,
  ROUTES.welcome,
  ROUTES.confirm,
  ROUTES.forgotten,
]

export function isScreen(path: string): boolean {
  return Object.values(ROUTES).some((route) =>
    new RegExp(`^${route.replaceAll(/:\w+/g, '[^/?#]+')}$`).test(path),
  )
}

/** Returns where to go after sign-in: always a dashboard screen, even if a link names another address. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? ''
  return isScreen(next) && !WITHOUT_SESSION.includes(next) ? next : ROUTES.domains
}
