import { exactDuration } from '../../format.ts'
import type { Rule } from './values.ts'

const WORDS = {
  fresh_seconds: 'Fresh for',
  stale_seconds: 'Then stale for',
  keep_seconds: 'Kept for',
} as const

type FreshnessSetting = keyof typeof WORDS
type Freshness = Partial<Record<FreshnessSetting, number>>

/** Says how the freshness of a page changes: `Fresh for 24 h → 1 h`. What a rule leaves out is as in the settings of the site. */
export function freshnessChanges(
  before: Freshness | undefined,
  after: Freshness | undefined,
  site: Required<Freshness>,
): string[] {
  const changes: string[] = []
  for (const name of Object.keys(WORDS) as FreshnessSetting[]) {
    const old = before?.[name] ?? site[name]
    const next = after?.[name] ?? site[name]
    if (old !== next) changes.push(`${WORDS[name]} ${exactDuration(old)} → ${exactDuration(next)}`)
  }
  return changes
}

/** The rule that a page got, or undefined without one. */
export function ruleAt(rules: readonly Rule[], at: number | null): Rule | undefined {
  return at === null ? undefined : rules[at]
}
