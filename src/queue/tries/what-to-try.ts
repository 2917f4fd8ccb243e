import type { PagePath } from '../../ids.ts'
import { type ChosenRule, queryTests, RuleBook } from '../../rules/rule-book.ts'
import { RULE_CATEGORIES, type Rule } from '../../rules/schema.ts'
import type { DomainSettings } from '../../sites/domain-settings.ts'
import { PAGE_VARIANTS, type PageVariant } from '../../store/page-id.ts'
import { normalisePath } from '../../store/path.ts'

export type TryVisitor = { category: (typeof RULE_CATEGORIES)[number]; variant: PageVariant }

/** The first visitor for whom the path has another rule afterwards, search crawlers and desktops before others. */
export function createVisitorChoice(
  before: readonly Rule[],
  after: readonly Rule[],
  { category, variant }: { [Of in keyof TryVisitor]?: TryVisitor[Of] | undefined },
): (path: PagePath) => TryVisitor & { before: ChosenRule | null; after: ChosenRule | null } {
  const [present, wanted] = [new RuleBook(before), new RuleBook(after)]
  const visitors = (variant === undefined ? PAGE_VARIANTS : [variant]).flatMap((device) =>
    (category === undefined ? RULE_CATEGORIES : [category]).map((one) => ({
      category: one,
      variant: device,
    })),
  )
  return (path) => {
    const [was, is] = [present.ofPath(path), wanted.ofPath(path)]
    const seen = visitors.map((one) => ({
      ...one,
      before: was(one.category, one.variant),
      after: is(one.category, one.variant),
    }))
    return seen.find((one) => textOf(one.before?.rule) !== textOf(one.after?.rule)) ?? seen[0]!
  }
}

/** For each new rule that applies to none of the paths `asked` one that it applies to, then `asked`. */
export function pathsToTry(
  { rules: before, query: keep }: Pick<DomainSettings, 'rules' | 'query'>,
  after: readonly Rule[],
  asked: readonly PagePath[],
): PagePath[] {
  const known = new Set(before.map(textOf))
  const own = after.flatMap((rule) => {
    if (known.has(textOf(rule))) return []
    const { path: pattern, when: { query } = {} } = rule
    const book = new RuleBook([{ ...rule, when: { query } }])
    const applies = (path: PagePath | null) => path !== null && book.chosen(path) !== null
    if (asked.some(applies)) return []
    const parameters = queryTests(rule).map(
      ({ parameter, isAnyValue }) => `${parameter}${isAnyValue ? '=1' : ''}`,
    )
    const found = (pattern.includes('*') ? asked : [pattern])
      .map((path) => {
        const mark = path.includes('?') ? '&' : '?'
        return normalisePath(parameters.length === 0 ? path : path + mark + parameters.join('&'), keep)
      })
      .find(applies)
    return found == null ? [] : [found]
  })
  return [...new Set([...own, ...asked])]
}

const TEXTS = new WeakMap<Rule, string>()

/** The same for equal rules: the database orders fields its own way. */
function textOf(rule: Rule | undefined): string {
  if (rule === undefined) return ''
  const text =
    TEXTS.get(rule) ??
    JSON.stringify(rule, (_name, value: unknown) =>
      typeof value !== 'object' || value === null || Array.isArray(value)
        ? value
        : Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))),
    )
  TEXTS.set(rule, text)
  return text
}
