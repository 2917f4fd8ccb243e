import { createParser, traverse } from 'css-selector-parser'

export const SELECTOR_LIMIT_CHARS = 500
/** Of a selector inside a pseudo-class inside a pseudo-class and so on. */
const NESTING_LIMIT = 3

/** As Chromium knows them. */
const PSEUDO_CLASSES = {
  NoArgument: [
    ...['active', 'any-link', 'autofill', 'buffering', 'checked', 'default', 'defined', 'disabled', 'empty'],
    ...['enabled', 'first-child', 'first-of-type', 'focus', 'focus-visible', 'focus-within', 'fullscreen'],
    ...['hover', 'in-range', 'indeterminate', 'invalid', 'last-child', 'last-of-type', 'link', 'modal'],
    ...['only-child', 'only-of-type', 'open', 'optional', 'out-of-range', 'paused', 'picture-in-picture'],
    ...['placeholder-shown', 'playing', 'popover-open', 'read-only', 'read-write', 'required', 'root'],
    ...['scope', 'target', 'user-invalid', 'user-valid', 'valid', 'visited'],
  ],
  Selector: ['is', 'where', 'not', 'has'],
  Formula: ['nth-of-type', 'nth-last-of-type'],
  FormulaOfSelector: ['nth-child', 'nth-last-child'],
  String: ['lang', 'dir'],
}

const parse = createParser({
  strict: true,
  syntax: {
    tag: { wildcard: true },
    namespace: { wildcard: true },
    ids: true,
    classNames: true,
    combinators: ['>', '+', '~'],
    attributes: {
      operators: ['=', '~=', '|=', '^=', '$=', '*='],
      caseSensitivityModifiers: ['i', 's'],
      unknownCaseSensitivityModifiers: 'reject',
    },
    pseudoElements: false,
    pseudoClasses: { unknown: 'reject', definitions: PSEUDO_CLASSES },
  },
})

/** Why a browser would refuse the selector, or why it would take long; null: it is taken. */
export function selectorProblem(text: string): string | null {
  let tree: ReturnType<typeof parse>
  try {
    // Pseudo-classes are known in lower case; the parser refuses names that begin with two hyphens.
    tree = parse(text.toLowerCase().replace(/(?<![\w\\\u0080-\uffff-])--/g, '\\--'))
  } catch (error) {
    return `is not a CSS selector: ${(error as Error).message.replace(/^.*parse error: /, '')}`
  }
  let problem: string | null = null
  let searches = 0
  traverse(tree, (node, { parents, key }) => {
    const outer = parents.filter((parent) => parent.type === 'PseudoClass')
    if (node.type === 'NamespaceName') problem = 'has a namespace'
    if (node.type === 'String' && node.value.includes('\n')) problem = 'has a line break in a text'
    if (node.type !== 'Rule') return
    const { combinator } = node
    if (outer.length > NESTING_LIMIT) problem = `must nest at most ${NESTING_LIMIT} pseudo-classes`
    if (key === 'rules' && combinator !== undefined && outer.at(-1)?.name !== 'has') {
      problem = 'is not a CSS selector: a combinator has nothing before it'
    }
    // Each costs a search of its own for every element.
    searches += node.items.filter((item) => item.type === 'PseudoClass' && item.name === 'has').length
  })
  return problem ?? (searches > 1 ? 'must have at most one :has()' : null)
}
