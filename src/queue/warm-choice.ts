import type { DomainSettings } from '../accounts/domain-settings.ts'
import { ruleFor } from '../edge/path-rules.ts'
import { freshnessOf } from '../pages/freshness.ts'
import type { Robots } from '../sitemaps/robots.ts'
import type { KnownPage } from './known-pages.ts'
import type { WarmWhich } from './warm.ts'

/** What is to be done with one known path. All but `queue` leave it out, and are counted. */
export type WarmChoice = 'queue' | 'forbidden' | 'passed' | 'fresh'

/** A sitemap that dates its pages further ahead than clocks differ knows nothing. */
const AHEAD_MS = 86_400_000

export function warmChoice(
  page: KnownPage,
  {
    which,
    robots,
    settings,
    nowMs,
  }: {
    which: WarmWhich
    robots: Pick<Robots, 'allows'>
    settings: Pick<DomainSettings, 'rules' | 'fresh_seconds' | 'stale_seconds' | 'keep_seconds'>
    nowMs: number
  },
): WarmChoice {
  const rule = ruleFor(settings.rules, page.path)
  // Crawlers get the origin there: a render would be for nobody.
  if (rule?.action === 'pass') return 'passed'
  if (!robots.allows(page.path)) return 'forbidden'
  const { stored, changedAtMs } = page
  if (which === 'all' || stored === null) return 'queue'
  const isChanged =
    changedAtMs !== null && changedAtMs > stored.renderedAtMs && changedAtMs <= nowMs + AHEAD_MS
  if (isChanged) return 'queue'
  const lifetimes = {
    freshMs: (rule?.fresh_seconds ?? settings.fresh_seconds) * 1_000,
    staleMs: settings.stale_seconds * 1_000,
    keepMs: settings.keep_seconds * 1_000,
  }
  return freshnessOf(stored, lifetimes, nowMs) === 'fresh' ? 'fresh' : 'queue'
}
