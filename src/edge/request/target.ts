import { RecentMap } from '../../recent-map.ts'
import { ruleFor } from '../../sites/domain-settings.ts'
import type { Lifetimes } from '../../store/freshness.ts'
import { type PageId, pageId } from '../../store/page-id.ts'
import { normalisePath } from '../../store/path.ts'
import type { EdgeDomain } from './domain.ts'

/** The meaning of a URL. Depends only on domain and URL, so it is cached. */
export type Target = PageTarget | { kind: 'asset' | 'excluded' | 'rule' | 'path' }

export type PageTarget = {
  /** `xml`: an asset, unless the site names it as a sitemap. */
  kind: 'page' | 'sitemap' | 'xml'
  page: PageId
  lifetimes: Lifetimes
  /** Day (since epoch) on which this node last recorded the path. */
  notedDay: number
  refreshedMs: number
  visit: { userAgent: string; atMs: number }
}

// Page resources and downloads. Extensions such as html, php and aspx are pages.
const ASSET =
  /\.(?:js|mjs|cjs|css|map|json|jsonld|webmanifest|wasm|xml|xsl|rss|atom|txt|csv|tsv|png|jpe?g|jfif|gif|svgz?|ico|cur|webp|avif|heic|bmp|tiff?|psd|ai|eps|woff2?|ttf|otf|eot|mp[34]|m4[av]|aac|wav|flac|og[gav]|opus|weba|webm|mov|avi|wmv|flv|mpe?g|mkv|m3u8|ts|mpd|vtt|srt|pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|zip|gz|tgz|bz2|xz|7z|rar|tar|br|zst|dmg|pkg|exe|msi|deb|rpm|apk|ipa|iso|bin|torrent|swf|dat|ics|vcf|ya?ml)$/i

// For machines; the origin answers.
const EXCLUDED =
  /^\/(?:robots\.txt|ads\.txt|app-ads\.txt|llms\.txt|security\.txt|favicon\.ico|\.well-known(?:\/.*)?)$/

/** `/sitemap.xml`, `/sitemap-products.xml.gz`, `/post-sitemap1.xml`, in any folder. */
const SITEMAP = /sitemap[^/]*\.xml(?:\.gz)?$/i

const XML = /\.xml(?:\.gz)?$/i

const NOT_ASCII = /[^\x21-\x7e]/

/** URLs of all domains; about 300 bytes each. */
const REMEMBERED = 50_000

export class Targets {
  readonly #remembered = new RecentMap<{ domain: EdgeDomain; target: Target }>({ limit: REMEMBERED })

  of(domain: EdgeDomain, url: string): Target {
    const key = `${domain.id}${url}` // digits, then `/`
    const found = this.#remembered.get(key)
    // Changed settings create a new domain object.
    if (found !== undefined && found.domain === domain) return found.target
    const target = targetOf(domain, url)
    if (url.length <= 2_048) this.#remembered.set(key, { domain, target })
    return target
  }
}

function targetOf(domain: EdgeDomain, url: string): Target {
  // URLs must be ASCII; node:http refuses other bytes itself.
  const path = NOT_ASCII.test(url) ? null : normalisePath(url, domain.query)
  if (path === null) return { kind: 'path' }

  const name = path.split('?', 1)[0]!
  if (EXCLUDED.test(name)) return { kind: 'excluded' }
  const rule = ruleFor(domain.rules, path)
  if (rule?.action === 'pass') return { kind: 'rule' }
  const lifetimes =
    rule?.fresh_seconds === undefined
      ? domain.lifetimes
      : { ...domain.lifetimes, freshMs: rule.fresh_seconds * 1_000 }
  const visit = { userAgent: '', atMs: 0 }
  const id = pageId(domain.id, path)
  const page: PageTarget = { kind: 'page', page: id, lifetimes, notedDay: 0, refreshedMs: 0, visit }
  if (rule?.action === 'render') return page
  if (SITEMAP.test(name)) return { ...page, kind: 'sitemap' }
  if (XML.test(name)) return { ...page, kind: 'xml' }
  return ASSET.test(name) ? { kind: 'asset' } : page
}
