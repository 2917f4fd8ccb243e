/**
 * What a verdict means for whoever looks at how well crawlers are served.
 * `hit`, `stale`, `rendered`: a finished page. `failed`: there was to be one,
 * and the origin had to answer. `passed`: by rule (an asset, a method, a setting
 * of the owner's) it was never to be one. `sitemap`: a sitemap, however it was answered.
 */
export type VerdictKind = 'hit' | 'stale' | 'rendered' | 'failed' | 'passed' | 'sitemap'

/** Passes that say nothing against us. */
const BY_RULE: readonly string[] = [
  'pass; not-a-crawler',
  'pass; method',
  'pass; category',
  'pass; authorization',
  'pass; asset',
  'pass; excluded',
  'pass; rule',
  'pass; path',
  'pass; inactive',
  'pass; loop',
  'pass; forged',
]

const BY_RULE_SET: ReadonlySet<string> = new Set(BY_RULE)

/** Verdicts of requests that were not for a page; for SQL. */
export const NO_PAGES: readonly string[] = [...BY_RULE, 'sitemap']

/** Of the words of `X-Prepaint`, or `sitemap`: however a sitemap is answered, it is no page. */
export function kindOfVerdict(verdict: string): VerdictKind {
  if (verdict === 'hit' || verdict === 'stale' || verdict === 'rendered' || verdict === 'sitemap') {
    return verdict
  }
  return BY_RULE_SET.has(verdict) ? 'passed' : 'failed'
}

/** Visits by kind: requests for pages are all but `passed` and `sitemap`. */
export type VisitsByKind = Record<VerdictKind, number>

export function noVisits(): VisitsByKind {
  return { hit: 0, stale: 0, rendered: 0, failed: 0, passed: 0, sitemap: 0 }
}

/** The share of requests for pages that were answered from the cache; null where there were none. */
export function hitRatio({ hit, stale, rendered, failed }: VisitsByKind): number | null {
  const pages = hit + stale + rendered + failed
  return pages === 0 ? null : Math.round(((hit + stale) / pages) * 10_000) / 10_000
}
