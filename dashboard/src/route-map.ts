/** Every screen of the dashboard by its address. The server answers these and no others. */
export const ROUTES = {
  welcome: '/welcome',
  signIn: '/sign-in',
  domains: '/domains',
  domain: '/domains/:domain',
  domainCache: '/domains/:domain/cache',
  domainPages: '/domains/:domain/pages',
  domainRenders: '/domains/:domain/renders',
  domainSettings: '/domains/:domain/settings',
  domainTokens: '/domains/:domain/tokens',
  domainTraffic: '/domains/:domain/traffic',
  traffic: '/traffic',
  keys: '/keys',
  plan: '/plan',
  account: '/account',
  forgotten: '/forgotten-password',
  operatorAccounts: '/operator/accounts',
  operatorNodes: '/operator/nodes',
  operatorQueue: '/operator/queue',
  operatorFailures: '/operator/failures',
} as const

export type DomainRoute =
  | 'domain'
  | 'domainTraffic'
  | 'domainCache'
  | 'domainRenders'
  | 'domainSettings'
  | 'domainTokens'

/** The address of a screen of one domain. */
export function domainPath(route: DomainRoute, domain: string): string {
  return ROUTES[route].replace(':domain', encodeURIComponent(domain))
}

/** What of a page is shown under the lens. */
export type LensView = 'compare' | 'facts' | 'source' | 'renders' | 'history' | 'preview'

/** The address of one page under the lens. */
export function pagePath(domain: string, path: string, view: LensView = 'compare'): string {
  const query = new URLSearchParams({ path, ...(view !== 'compare' && { view }) })
  return `${ROUTES.domainPages.replace(':domain', encodeURIComponent(domain))}?${query}`
}

/** Where to sign in, and come back from. */
export function signInPath(next: string): string {
  return next === ROUTES.domains || next === '/'
    ? ROUTES.signIn
    : `${ROUTES.signIn}?next=${encodeURIComponent(next)}`
}

/** Where to go after signing in: an address of ours and of nobody else, whatever a link says. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? ''
  const known = Object.values(ROUTES).some((route) =>
    new RegExp(`^${route.replace(':domain', '[^/?#]+')}$`).test(next),
  )
  return known && next !== ROUTES.signIn && next !== ROUTES.welcome && next !== ROUTES.forgotten
    ? next
    : ROUTES.domains
}
