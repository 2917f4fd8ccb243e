import { createHash } from 'node:crypto'
import { matchesWhole, parseGlob } from '../glob.ts'
import type { PageVariant } from '../store/page-id.ts'
import { normalisePath } from '../store/path.ts'
import { RULE_CATEGORIES, type Rule } from './schema.ts'

/** Of renders for no particular crawler: refreshes and warms. */
export const USUAL_CATEGORY = 'search'

type Entry = {
  rule: Rule
  index: number
  glob: ReturnType<typeof parseGlob>
  query: readonly QueryTest[]
  /** Made on first use. */
  effect: string | null
}

type QueryTest = { parameter: string; isAnyValue: boolean }

/** A domain's rules, ready to be asked for each path. */
export class RuleBook {
  readonly #entries: readonly Entry[]
  /** Whether a path may have different rules for different crawlers. */
  readonly tellsCrawlersApart: boolean

  constructor(rules: readonly Rule[]) {
    this.#entries = rules.map((rule, index) => ({
      rule,
      index,
      glob: parseGlob(rule.path),
      query: queryTests(rule),
      effect: null,
    }))
    this.tellsCrawlersApart = rules.some(({ when }) => when?.categories !== undefined)
  }

  /** The first rule that matches decides alone; null: none. `path`: as it is stored. */
  find(path: string, category: string, variant: PageVariant = 'desktop'): Rule | null {
    return this.#entry(path, category, variant)?.rule ?? null
  }

  chosen(
    path: string,
    category: string,
    variant: PageVariant = 'desktop',
  ): { rule: Rule; effect: string; index: number } | null {
    const entry = this.#entry(path, category, variant)
    return entry === undefined ? null : { rule: entry.rule, effect: effectOf(entry.rule), index: entry.index }
  }

  /** Names what the path's rule does to a render; empty: nothing. */
  effect(path: string, category: string, variant: PageVariant = 'desktop'): string {
    const entry = this.#entry(path, category, variant)
    if (entry === undefined) return ''
    entry.effect ??= effectOf(entry.rule)
    return entry.effect
  }

  /** What other crawlers' rules do to renders of the path. */
  otherEffects(path: string, category: string, variant: PageVariant = 'desktop'): ReadonlySet<string> {
    const effects = new Set<string>()
    if (!this.tellsCrawlersApart) return effects
    for (const other of RULE_CATEGORIES) effects.add(this.effect(path, other, variant))
    effects.delete(this.effect(path, category, variant))
    return effects
  }

  #entry(path: string, category: string, variant: PageVariant): Entry | undefined {
    return this.#entries.find(
      ({ rule, glob, query }) =>
        matchesWhole(glob, path) && isFor(rule, category, variant) && matchesQuery(query, path),
    )
  }
}

function isFor({ when = {} }: Rule, category: string, variant: PageVariant): boolean {
  return includesCategory(when.categories, category) && (when.variant ?? variant) === variant
}

/** Whether desktop renders for no particular crawler follow it. */
export function isForUsual(rule: Rule): boolean {
  return isFor(rule, USUAL_CATEGORY, 'desktop')
}

function includesCategory(categories: readonly string[] | undefined, category: string): boolean {
  if (categories === undefined || categories.includes(category)) return true
  return category.startsWith('ai-') && categories.includes('ai')
}

/** In the spelling of stored paths. */
export function queryTests({ when }: Rule): QueryTest[] {
  return Object.entries(when?.query ?? {}).map(([name, value]) => {
    const isAnyValue = value === '*'
    const raw = [name, ...(isAnyValue ? [] : [value])].map(encodeURIComponent).join('=')
    // `keep` would drop click tracking, which the owner asks for here.
    return { parameter: normalisePath(`/?${raw}`, [name])?.slice(2) ?? raw, isAnyValue }
  })
}

function matchesQuery(tests: readonly QueryTest[], path: string): boolean {
  if (tests.length === 0) return true
  const mark = path.indexOf('?')
  const given = mark === -1 ? [] : path.slice(mark + 1).split('&')
  return tests.every(({ parameter, isAnyValue }) =>
    given.some((one) => one === parameter || (isAnyValue && one.startsWith(`${parameter}=`))),
  )
}

/** Of what a render depends on; two rules with the same effect make the same page. */
function effectOf({ render = {}, change = {} }: Rule): string {
  const parts = [...Object.entries(render), ...Object.entries(change)]
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
  if (parts.length === 0) return ''
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}

/** In milliseconds. */
type Lifetimes = { freshMs: number; staleMs: number; keepMs: number }

export function lifetimesOf(
  settings: { fresh_seconds: number; stale_seconds: number; keep_seconds: number },
  rule: Rule | null,
): Lifetimes {
  const usual = {
    freshMs: settings.fresh_seconds * 1_000,
    staleMs: settings.stale_seconds * 1_000,
    keepMs: settings.keep_seconds * 1_000,
  }
  return lifetimesUnder(usual, rule)
}

export function lifetimesUnder(usual: Lifetimes, rule: Rule | null): Lifetimes {
  const { fresh_seconds: fresh, stale_seconds: stale, keep_seconds: keep } = rule ?? {}
  if (fresh === undefined && stale === undefined && keep === undefined) return usual
  return {
    freshMs: fresh === undefined ? usual.freshMs : fresh * 1_000,
    staleMs: stale === undefined ? usual.staleMs : stale * 1_000,
    keepMs: keep === undefined ? usual.keepMs : keep * 1_000,
  }
}

/** Both count from 0. */
export type CoveredRule = { rule: number; covered_by: number }

/** Rules that never match, because an earlier one takes all that they could. */
export function coveredRules(rules: readonly Rule[]): CoveredRule[] {
  return rules.flatMap((rule, at) => {
    const by = rules.slice(0, at).findIndex((earlier) => covers(earlier, rule))
    return by === -1 ? [] : [{ rule: at, covered_by: by }]
  })
}

function covers(earlier: Rule, later: Rule): boolean {
  // A character that only a `*` of the earlier pattern takes stands for any text of the later one.
  if (!matchesWhole(parseGlob(earlier.path), later.path.replaceAll('*', '\u0001'))) return false
  const [wide, narrow] = [earlier.when ?? {}, later.when ?? {}]
  if (wide.variant !== undefined && wide.variant !== narrow.variant) return false
  if (wide.categories !== undefined) {
    const asked = narrow.categories ?? RULE_CATEGORIES
    if (!asked.every((category) => includesCategory(wide.categories, category))) return false
  }
  return Object.entries(wide.query ?? {}).every(([name, value]) => {
    const asked = narrow.query?.[name]
    return asked !== undefined && (value === '*' || value === asked)
  })
}
