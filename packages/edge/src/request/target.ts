import { isPhoneAgent } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { Lifetimes } from '@prepaint/contract/page/freshness.ts'
import { type AskedPage, type PageId, pageId } from '@prepaint/contract/page/page-id.ts'
import { isAsset, normalisePath, spellingOf } from '@prepaint/contract/page/path.ts'
import { barePath, type CompiledRedirect, keyFileOf } from '@prepaint/contract/site-files/redirects.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { lifetimesOf, USUAL_CATEGORY } from '@prepaint/runtime/rule-book.ts'
import type { EdgeDomain } from './domain.ts'
import { PageMemory } from './visit-recorder.ts'

/** The meaning of a URL. Depends only on domain, URL and the kind of crawler, so it is cached. */
export type Target =
  | PageTarget
  | MissingTarget
  | { kind: 'asset' | 'excluded' | 'rule' | 'path'; own: OwnAnswer | null }

/** An answer that the owner has put in front of the site, for all clients. */
export type OwnAnswer =
  | { kind: 'redirect'; redirect: CompiledRedirect }
  | { kind: 'robots' | 'key' }
  /** `file` counts from 0; null stands for the whole sitemap, or the index of its files. */
  | { kind: 'sitemap'; file: number | null }

export type PageTarget = {
  /** `xml` is an asset of XML or text, unless the site names it as a sitemap. */
  kind: 'page' | 'sitemap' | 'xml'
  own: OwnAnswer | null
  page: AskedPage
  lifetimes: Lifetimes
  /** Is false if a rule has the action `no-store`: the page is rendered for each crawler. */
  isKept: boolean
  /** Names what the path's rule does to its render. */
  effect: string
  /** Names what the rules for other crawlers do to renders of the path. */
  otherEffects: ReadonlySet<string>
  /** `VisitRecorder` alone reads and changes it. */
  memory: PageMemory
}

/** A rule says that there is no such page. The stored page is the text of the answer. */
export type MissingTarget = {
  kind: 'missing'
  own: OwnAnswer | null
  status: 404 | 410
  page: PageId
  lifetimes: Lifetimes
}

// Machines ask for these files; the origin answers.
const EXCLUDED =
  /^\/(?:robots\.txt|ads\.txt|app-ads\.txt|llms\.txt|security\.txt|favicon\.ico|\.well-known(?:\/.*)?)$/

/** Matches `/sitemap.xml`, `/sitemap.txt`, `/sitemap-products.xml.gz` and `/post-sitemap1.xml`, in any folder. */
const SITEMAP = /sitemap[^/]*\.(?:xml|txt)(?:\.gz)?$/i

const XML = /\.(?:xml|txt)(?:\.gz)?$/i

const NOT_ASCII = /[^\x21-\x7e]/

/** URLs of all domains that are remembered. Each takes about 300 bytes. */
const REMEMBERED = 50_000

/** Finds out what URLs mean, and remembers it. */
export class Targets {
  readonly #remembered = new RecentMap<{ domain: EdgeDomain; target: Target }>({ limit: REMEMBERED })

  of(domain: EdgeDomain, url: string, crawler: string | null = null, userAgent = ''): Target {
    const category = crawler ?? USUAL_CATEGORY
    const isPhone = domain.devices.mayTellApart && isPhoneAgent(userAgent)
    // The key is digits, maybe letters, maybe a space, then the URL, which begins with `/`.
    const apart = domain.rules.tellsCrawlersApart ? `${domain.id}${category}` : `${domain.id}`
    const key = isPhone ? `${apart} ${url}` : `${apart}${url}`
    const found = this.#remembered.get(key)
    // Changed settings create a new domain object.
    if (found !== undefined && found.domain === domain) return found.target
    const target = targetOf(domain, url, category, isPhone)
    if (url.length <= 2_048) this.#remembered.set(key, { domain, target })
    return target
  }
}

function targetOf(domain: EdgeDomain, url: string, category: string, isPhone: boolean): Target {
  // URLs must be ASCII; node:http refuses other bytes itself.
  const isAscii = !NOT_ASCII.test(url)
  const path = isAscii ? normalisePath(url, domain.query) : null
  // A path that is too long with its query may still be redirected.
  const bare = path?.split('?', 1)[0] ?? (isAscii ? barePath(url) : null)
  const own = bare === null ? null : ownAnswer(domain, bare)
  if (path === null) return { kind: 'path', own }

  const name = path.split('?', 1)[0]!
  if (EXCLUDED.test(name)) return { kind: 'excluded', own }
  const { rules } = domain
  const variant = isPhone && domain.devices.tellsApart(path) ? 'mobile' : 'desktop'
  const { rule = null, effect = '' } = rules.chosen(path, category, variant) ?? {}
  if (rule?.action === 'pass') return { kind: 'rule', own }
  const lifetimes = lifetimesOf(domain.ages, rule)
  const id = pageId(domain.id, path, variant)
  if (rule?.action === 'not-found') return { kind: 'missing', own, status: 404, page: id, lifetimes }
  if (rule?.action === 'gone') return { kind: 'missing', own, status: 410, page: id, lifetimes }
  const page: PageTarget = {
    kind: 'page',
    own,
    page: asked(id, url, domain),
    lifetimes,
    isKept: rule?.action !== 'no-store',
    effect,
    otherEffects: rules.otherEffects(path, category, variant),
    memory: new PageMemory(),
  }
  if (rule?.action === 'render') return page
  if (SITEMAP.test(name)) return { ...page, kind: 'sitemap' }
  if (XML.test(name)) return { ...page, kind: 'xml' }
  return isAsset(name) ? { kind: 'asset', own } : page
}

function asked(page: PageId, url: string, { query }: EdgeDomain): AskedPage {
  const spelling = spellingOf(url, query)
  return spelling === null || spelling === page.path ? page : { ...page, spelling }
}

const OWN_SITEMAP = /^\/sitemap(?:-([1-9]\d{0,4}))?\.xml$/

function ownAnswer(domain: EdgeDomain, path: string): OwnAnswer | null {
  const { isActive, redirects, indexNowKey, indexNow, files } = domain
  if (!isActive) return null
  if (path === keyFileOf(indexNowKey)) return indexNow ? { kind: 'key' } : null
  const redirect = redirects?.find(path) ?? null
  if (redirect !== null) return { kind: 'redirect', redirect }
  if (path === '/robots.txt') return { kind: 'robots' }
  const found = files.sitemap === 'generate' ? OWN_SITEMAP.exec(path) : null
  return found && { kind: 'sitemap', file: found[1] === undefined ? null : Number(found[1]) - 1 }
}
