import { setImmediate as breathe } from 'node:timers/promises'
import type { PagePath } from '../../ids.ts'
import { queryTests, RuleBook } from '../../rules/rule-book.ts'
import { RULE_CATEGORIES, type Rule } from '../../rules/schema.ts'
import type { DomainSettings } from '../../sites/domain-settings.ts'
import { PAGE_VARIANTS, type PageVariant } from '../../store/page-id.ts'
import { normalisePath } from '../../store/path.ts'
import type { TriedRules } from '../jobs/claim.ts'

export type TryVisitor = { category: (typeof RULE_CATEGORIES)[number]; variant: PageVariant }

type TriedPath = TryVisitor & TriedRules

/**
 * For each path the first visitor for whom it has another rule afterwards, search crawlers and desktops before others.
 * Here and in `pathsToTry`, others have their turn between steps: hostile rules take 15 ms for a path.
 */
export async function visitorsToTry(
  before: readonly Rule[],
  after: readonly Rule[],
  paths: readonly PagePath[],
  { category, variant }: { [Of in keyof TryVisitor]?: TryVisitor[Of] | undefined },
): Promise<TriedPath[]> {
  const [present, wanted] = [new RuleBook(before), new RuleBook(after)]
  const visitors = (variant === undefined ? PAGE_VARIANTS : [variant]).flatMap((device) =>
    (category === undefined ? RULE_CATEGORIES : [category]).map((one) => ({
      category: one,
      variant: device,
    })),
  )
  const found: TriedPath[] = []
  for (const path of paths) {
    await breathe()
    const [was, is] = [present.ofPath(path), wanted.ofPath(path)]
    const seen = visitors.map((one) => ({
      ...{ ...one, path },
      before: was(one.category, one.variant),
      after: is(one.category, one.variant),
    }))
    found.push(seen.find((one) => textOf(one.before?.rule) !== textOf(one.after?.rule)) ?? seen[0]!)
  }
  return found
}

/** For each new rule that applies to none of the paths `asked` one that it applies to, then `asked`. */
export async function pathsToTry(
  { rules: before, query: keep }: Pick<DomainSettings, 'rules' | 'query'>,
  after: readonly Rule[],
  asked: readonly PagePath[],
): Promise<PagePath[]> {
  const known = new Set(before.map(textOf))
  const own: PagePath[] = []
  for (const rule of after) {
    if (known.has(textOf(rule))) continue
    await breathe()
    const { path: pattern, when: { query } = {} } = rule
    const book = new RuleBook([{ ...rule, when: { query } }])
    const applies = (path: PagePath | null) => path !== null && book.chosen(path) !== null
    if (asked.some(applies)) continue
    const parameters = queryTests(rule).map(
      ({ parameter, isAnyValue }) => `${parameter}${isAnyValue ? '=1' : ''}`,
    )
    const found = (pattern.includes('*') ? asked : [pattern])
      .map((path) => {
        const mark = path.includes('?') ? '&' : '?'
        return normalisePath(parameters.length === 0 ? path : path + mark + parameters.join('&'), keep)
      })
      .find(applies)
    if (found != null) own.push(found)
  }
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
