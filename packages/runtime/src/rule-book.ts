import { createHash } from 'node:crypto'
import { type Glob, matchesWhole, parseGlob } from '@prepaint/contract/glob.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import { normalisePath, normalisePrefix } from '@prepaint/contract/page/path.ts'
import { RULE_CATEGORIES, type Rule } from '@prepaint/contract/rules/schema.ts'

/** The category of renders for no particular crawler: refreshes and warms. */
export const USUAL_CATEGORY = 'search'

/**
 * `effect` names what the rule does to the render, and is empty if it does nothing; two rules with the same effect make the
 * same page. `index` counts from 0.
 */
export type ChosenRule = { rule: Rule; effect: string; index: number }

type Entry = { chosen: ChosenRule; glob: Glob; query: readonly QueryTest[] }
type QueryTest = { parameter: string; isAnyValue: boolean }

/** A domain's rules, ready to be asked for each path. */
export class RuleBook {
  readonly #entries: readonly Entry[]
  /** Says whether a path may have different rules for different crawlers. */
  readonly tellsCrawlersApart: boolean

  constructor(rules: readonly Rule[]) {
    this.#entries = rules.map((rule, index) => ({
      chosen: { rule, effect: effectOf(rule), index },
      glob: parseGlob(speltPath(rule)),
      query: queryTests(rule),
    }))
    this.tellsCrawlersApart = rules.some(({ when }) => when?.categories !== undefined)
  }

  /** Returns the first rule that matches, which decides alone, or null. `path` is spelt as it is stored. */
  chosen(path: string, category = USUAL_CATEGORY, variant: PageVariant = 'desktop'): ChosenRule | null {
    return this.ofPath(path)(category, variant)
  }

  /** Returns a function that answers as `chosen` does for several visitors of a path. */
  ofPath(path: string): (category: string, variant: PageVariant) => ChosenRule | null {
    let given: Parameters | undefined
    const isGiven = ({ parameter, isAnyValue }: QueryTest) => {
      given ??= parametersOf(path)
      return (isAnyValue ? given.names : given.whole).has(parameter)
    }
    const matching = this.#entries.filter(
      ({ glob, query }) => matchesWhole(glob, path) && query.every(isGiven),
    )
    return (category, variant) =>
      matching.find(({ chosen }) => isFor(chosen.rule, category, variant))?.chosen ?? null
  }

  /** Returns what other crawlers' rules do to renders of the path. */
  otherEffects(path: string, category: string, variant: PageVariant = 'desktop'): ReadonlySet<string> {
    if (!this.tellsCrawlersApart) return new Set()
    const chosen = this.ofPath(path)
    const effect = (visitor: string) => chosen(visitor, variant)?.effect ?? ''
    const effects = new Set(RULE_CATEGORIES.map(effect))
    effects.delete(effect(category))
    return effects
  }
}

function isFor({ when = {} }: Rule, category: string, variant: PageVariant): boolean {
  return includesCategory(when.categories, category) && (when.variant ?? variant) === variant
}

/** Returns whether desktop renders for no particular crawler follow the rule. */
export function isForUsual(rule: Rule): boolean {
  return isFor(rule, USUAL_CATEGORY, 'desktop')
}

function includesCategory(categories: readonly string[] | undefined, category: string): boolean {
  if (categories === undefined || categories.includes(category)) return true
  return category.startsWith('ai-') && categories.includes('ai')
}

/** Returns the rule's path as stored paths are spelt: an owner may write `/café`, which requests spell `/caf%C3%A9`. */
export function speltPath({ path }: Pick<Rule, 'path'>): string {
  return normalisePrefix(path) ?? path
}

/** Returns what the rule asks of the query, in the spelling of stored paths. */
export function queryTests({ when }: Rule): QueryTest[] {
  return Object.entries(when?.query ?? {}).map(([name, value]) => {
    const isAnyValue = value === '*'
    const encodedName = encodeURIComponent(name)
    const raw = isAnyValue ? encodedName : `${encodedName}=${encodeURIComponent(value)}`
    // `keep` would drop click tracking, which the owner asks for here.
    return { parameter: normalisePath(`/?${raw}`, [name])?.slice(2) ?? raw, isAnyValue }
  })
}

type Parameters = { names: ReadonlySet<string>; whole: ReadonlySet<string> }

function parametersOf(path: string): Parameters {
  const mark = path.indexOf('?')
  const given = mark === -1 ? [] : path.slice(mark + 1).split('&')
  return { names: new Set(given.map((one) => one.split('=', 1)[0]!)), whole: new Set(given) }
}

/** Returns a hash of what the render depends on. */
function effectOf({ when, render = {}, change = {} }: Rule): string {
  // Only such a rule changes the screen and user agent of phones.
  const ofPhones = when?.variant === 'mobile' && (render.user_agent ?? render.viewport) !== undefined
  const effects: Record<string, unknown> = { ...render, ...change }
  if (ofPhones) effects['phones'] = true
  const parts = Object.entries(effects)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
  if (parts.length === 0) return ''
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}

type Ages = { fresh_seconds: number; stale_seconds: number; keep_seconds: number }

/** Returns the lifetimes in milliseconds: those of the rule, or the usual ones. */
export function lifetimesOf(usual: Ages, rule: Rule | null) {
  const ms = (age: keyof Ages) => (rule?.[age] ?? usual[age]) * 1_000
  return { freshMs: ms('fresh_seconds'), staleMs: ms('stale_seconds'), keepMs: ms('keep_seconds') }
}

/** Returns the rules that never match, because an earlier one takes all that they could. Both numbers count from 0. */
export function coveredRules(rules: readonly Rule[]): { rule: number; covered_by: number }[] {
  const reaches = rules.map((rule) => {
    const path = speltPath(rule)
    // A character that only a `*` of an earlier pattern takes stands for any text.
    const text = path.replaceAll('*', '\u0001')
    return { when: rule.when ?? {}, glob: parseGlob(path), text }
  })
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
