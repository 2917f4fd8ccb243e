import type { Verdict } from '../outcome/verdict.ts'

/**
 * `hit`, `stale`, `rendered`: a finished page. `failed`: the origin had to respond. `soft_404`: the origin responded to a
 * request for a page that does not exist. `passed`: by rule.
 */
export type VerdictKind = 'hit' | 'stale' | 'rendered' | 'failed' | 'soft_404' | 'passed' | 'sitemap'

const BY_RULE: readonly (Verdict | 'blocked' | 'payment')[] = [
  'pass; not-a-crawler',
  'pass; method',
  'pass; category',
  'pass; authorization',
  'pass; cookie',
  'pass; own-markdown',
  'pass; asset',
  'pass; excluded',
  'pass; rule',
  'pass; path',
  'pass; inactive',
  'pass; loop',
  'pass; forged',
  'rule',
  'redirect',
  'site-file',
  'blocked',
  'payment',
]

const BY_RULE_SET: ReadonlySet<string> = new Set(BY_RULE)

const SOFT_404: Verdict = 'pass; soft-404'

/** Verdicts of requests that were not for a page. Also in `is_for_page` of packages/service/src/insight/traffic/functions.sql. */
export const NO_PAGES: readonly string[] = [...BY_RULE, SOFT_404, 'sitemap']

export function kindOfVerdict(verdict: string): VerdictKind {
  if (verdict === 'hit' || verdict === 'stale' || verdict === 'rendered' || verdict === 'sitemap') {
    return verdict
  }
  if (verdict === SOFT_404) return 'soft_404'
  return BY_RULE_SET.has(verdict) ? 'passed' : 'failed'
}

export type VisitsByKind = Record<VerdictKind, number>

export function noVisits(): VisitsByKind {
  return { hit: 0, stale: 0, rendered: 0, failed: 0, soft_404: 0, passed: 0, sitemap: 0 }
}

/** Returns the share of hits among requests for pages, or null if there were none. */
export function hitRatio({ hit, stale, rendered, failed }: VisitsByKind): number | null {
  const pages = hit + stale + rendered + failed
  return pages === 0 ? null : Math.round(((hit + stale) / pages) * 10_000) / 10_000
}
