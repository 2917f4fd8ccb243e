import { createHash } from 'node:crypto'
import { type Glob, matchesWhole, parseGlob } from '../glob.ts'
import type { PageVariant } from '../store/page-id.ts'
import { normalisePath } from '../store/path.ts'
import { RULE_CATEGORIES, type Rule } from './schema.ts'

/** Of renders for no particular crawler: refreshes and warms. */
export const USUAL_CATEGORY = 'search'

type Entry = {
  rule: Rule
  index: number
  glob: Glob
  query: readonly QueryTest[]
  /** Made on first use. */
  effect: string | null
}

/** `effect` names what it does to the render; `index` counts from 0. */
export type ChosenRule = { rule: Rule; effect: string; index: number }

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

  chosen(path: string, category: string, variant: PageVariant = 'desktop'): ChosenRule | null {
    return this.ofPath(path)(category, variant)
  }

  /** `chosen` for several visitors of a path. */
  ofPath(path: string): (category: string, variant: PageVariant) => ChosenRule | null {
    const matching = this.#entries.filter((entry) => isOfPath(entry, path))
    return (category, variant) => {
      const entry = matching.find(({ rule }) => isFor(rule, category, variant))
      return entry === undefined ? null : { rule: entry.rule, effect: effectOf(entry), index: entry.index }
    }
  }

  /** Names what the path's rule does to a render; empty: nothing. */
  effect(path: string, category: string, variant: PageVariant = 'desktop'): string {
    const entry = this.#entry(path, category, variant)
    return entry === undefined ? '' : effectOf(entry)
  }

  /** What other crawlers' rules do to renders of the path. */
  otherEffects(path: string, category: string, variant: PageVariant = 'desktop'): ReadonlySet<string> {
    if (!this.tellsCrawlersApart) return new Set()
    const chosen = this.ofPath(path)
    const effect = (of: string) => chosen(of, variant)?.effect ?? ''
    const effects = new Set(RULE_CATEGORIES.map(effect))
    effects.delete(effect(category))
    return effects
  }

  #entry(path: string, category: string, variant: PageVariant): Entry | undefined {
    return this.#entries.find((entry) => isFor(entry.rule, category, variant) && isOfPath(entry, path))
  }
}

function isOfPath({ glob, query }: Entry, path: string): boolean {
  return matchesWhole(glob, path) && matchesQuery(query, path)
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
  if (lastQuery.path !== path) lastQuery = { path, ...parametersOf(path) }
  const { names, parameters } = lastQuery
  return tests.every(({ parameter, isAnyValue }) => (isAnyValue ? names : parameters).has(parameter))
}

/** The rules of a list ask one path one after the other: each parameter is read once. */
let lastQuery = { path: '', ...parametersOf('') }

function parametersOf(path: string): { names: ReadonlySet<string>; parameters: ReadonlySet<string> } {
  const mark = path.indexOf('?')
  const given = mark === -1 ? [] : path.slice(mark + 1).split('&')
  return { names: new Set(given.map((one) => one.split('=', 1)[0]!)), parameters: new Set(given) }
}

/** Of what a render depends on; two rules with the same effect make the same page. */
function effectOf(entry: Entry): string {
  entry.effect ??= effectNamed(entry.rule)
  return entry.effect
}

function effectNamed({ when, render = {}, change = {} }: Rule): string {
  // Only such a rule changes the screen and user agent of phones.
  const ofPhones = when?.variant === 'mobile' && (render.user_agent ?? render.viewport) !== undefined
  const parts = [
    ...Object.entries(render),
    ...Object.entries(change),
    ...(ofPhones ? [['phones', true]] : []),
  ]
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
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
  const reaches = rules.map(({ path, when = {} }) => ({
    when,
    glob: parseGlob(path),
    // A character that only a `*` of an earlier pattern takes stands for any text.
    text: path.replaceAll('*', '\u0001'),
  }))
  return reaches.flatMap((reach, at) => {
    const by = reaches
      .slice(0, at)
      .findIndex(({ when, glob }) => coversWhen(when, reach.when) && matchesWhole(glob, reach.text))
    return by === -1 ? [] : [{ rule: at, covered_by: by }]
  })
}

type When = NonNullable<Rule['when']>

function coversWhen(wide: When, narrow: When): boolean {
  if (wide.variant !== undefined && wide.variant !== narrow.variant) return false
  const asked = narrow.categories ?? RULE_CATEGORIES
  if (!asked.every((category) => includesCategory(wide.categories, category))) return false
  return Object.entries(wide.query ?? {}).every(([name, value]) => {
    const given = narrow.query?.[name]
    return given !== undefined && (value === '*' || value === given)
  })
}
