import { AttributeAction, isTraversal, parse, type Selector, SelectorType } from 'css-what'

export const SELECTOR_LIMIT_CHARS = 500
/** Of a selector inside a pseudo-class inside a pseudo-class and so on. */
const NESTING_LIMIT = 3
const TOO_DEEP = `must nest at most ${NESTING_LIMIT} pseudo-classes`

/** Without arguments, as Chromium knows them. */
const PLAIN = new Set([
  ...['active', 'any-link', 'autofill', 'buffering', 'checked', 'default', 'defined', 'disabled', 'empty'],
  ...['enabled', 'first-child', 'first-of-type', 'focus', 'focus-visible', 'focus-within', 'fullscreen'],
  ...['hover', 'in-range', 'indeterminate', 'invalid', 'last-child', 'last-of-type', 'link', 'modal'],
  ...['only-child', 'only-of-type', 'open', 'optional', 'out-of-range', 'paused', 'picture-in-picture'],
  ...['placeholder-shown', 'playing', 'popover-open', 'read-only', 'read-write', 'required', 'root'],
  ...['scope', 'target', 'user-invalid', 'user-valid', 'valid', 'visited'],
])
const WITH_SELECTORS = new Set(['is', 'where', 'not', 'has'])
const WITH_FORMULA = new Set(['nth-child', 'nth-last-child', 'nth-of-type', 'nth-last-of-type'])

/** CSS Syntax Level 3, section 6: `2n+1`, `odd`, `-n + 3`, `4`; maybe `of` a selector. */
const FORMULA = /^\s*(?:even|odd|[+-]?\d+|[+-]?\d*n(?:\s*[+-]\s*\d+)?)\s*(?:\sof\s(.+))?$/is

// The parser takes any character for a part of a name, which browsers do not (CSS Syntax Level 3, section 4.3).
const NAME = String.raw`(?:--|-?(?:[a-z_\u0080-\uffff]|\\[^\n]))(?:[\w\u0080-\uffff-]|\\[^\n])*`
const TOKEN = new RegExp(
  [
    ...[String.raw`\s+`, String.raw`"(?:[^"\\\n]|\\[^])*"`, String.raw`'(?:[^'\\\n]|\\[^])*'`],
    ...[String.raw`:nth-[a-z-]+\(\s*[\dn+-]+(?:\s*[+-]\s*\d+)?`, `::?${NAME}`, `[.#]${NAME}`, NAME],
    ...[`[~|^$*]?=`, String.raw`[*>+~|,()[\]]`],
  ].join('|'),
  'iy',
)

/** Why a browser would refuse the selector; null: it would not. */
export function selectorProblem(text: string): string | null {
  return spellingProblem(text) ?? structureProblem(text, 0, { has: 0 })
}

function spellingProblem(text: string): string | null {
  let open = 0
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const at = TOKEN.lastIndex
    const token = TOKEN.exec(text)?.[0]
    if (token === undefined) return `is not a CSS selector: unexpected ${JSON.stringify(text[at])}`
    if (token === ')') open--
    // Before the parser, which takes long for many; a formula may be inside the innermost.
    else if (token.includes('(') && !/^["']/.test(token) && ++open > NESTING_LIMIT + 1) return TOO_DEEP
  }
  return null
}

function structureProblem(text: string, depth: number, count: { has: number }): string | null {
  let lists: Selector[][]
  try {
    lists = parse(text)
  } catch (error) {
    return `is not a CSS selector: ${error instanceof Error ? error.message.split('\n', 1)[0] : 'malformed'}`
  }
  let problem = lists.length === 0 ? 'is not a CSS selector' : null
  for (const list of lists) problem ??= listProblem(list, depth, false, count)
  // Each costs a search of its own for every element.
  return problem ?? (count.has > 1 ? 'must have at most one :has()' : null)
}

function listProblem(
  list: readonly Selector[],
  depth: number,
  isRelative: boolean,
  count: { has: number },
): string | null {
  if (list.length === 0) return 'is not a CSS selector: a part is empty'
  if (depth > NESTING_LIMIT) return TOO_DEEP
  for (const [at, part] of list.entries()) {
    const isEdge = (at === 0 && !isRelative) || at === list.length - 1
    if (isTraversal(part) && (isEdge || isTraversal(list[at + 1]!))) {
      return 'is not a CSS selector: a combinator has nothing beside it'
    }
    const problem = partProblem(part, depth, count)
    if (problem !== null) return problem
  }
  return null
}

function partProblem(part: Selector, depth: number, count: { has: number }): string | null {
  switch (part.type) {
    case SelectorType.Parent:
    case SelectorType.ColumnCombinator:
      return 'has a combinator that browsers do not know'
    case SelectorType.PseudoElement:
      return `names the pseudo-element ::${part.name}, which is no element of the page`
    case SelectorType.Attribute:
      if (part.action === AttributeAction.Not) return 'has "!=", which browsers do not know'
      return namespaceProblem(part.namespace)
    case SelectorType.Tag:
    case SelectorType.Universal:
      return namespaceProblem(part.namespace)
    case SelectorType.Pseudo:
      return pseudoProblem(part, depth, count)
    default:
      return null
  }
}

function namespaceProblem(namespace: string | null): string | null {
  return namespace === null || namespace === '*' || namespace === '' ? null : 'has a namespace'
}

function pseudoProblem(
  { name, data }: Extract<Selector, { type: SelectorType.Pseudo }>,
  depth: number,
  count: { has: number },
): string | null {
  const unknown = `has the pseudo-class :${name}, which browsers do not know`
  if (data === null) return PLAIN.has(name) ? null : unknown
  if (typeof data === 'string') {
    if (name === 'lang' || name === 'dir') return /^[\w"', *-]+$/.test(data) ? null : unknown
    if (!WITH_FORMULA.has(name)) return unknown
    const [formula, of] = FORMULA.exec(data) ?? []
    if (formula === undefined) return `has :${name}(${data}), which is not a formula such as 2n+1`
    return of === undefined ? null : structureProblem(of, depth + 1, count)
  }
  if (!WITH_SELECTORS.has(name)) return unknown
  if (name === 'has') count.has++
  if (data.length === 0) return `has an empty :${name}()`
  for (const list of data) {
    const problem = listProblem(list, depth + 1, name === 'has', count)
    if (problem !== null) return problem
  }
  return null
}
