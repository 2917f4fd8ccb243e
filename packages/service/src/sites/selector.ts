/// <reference path="./css-tree.d.ts" />
import type { CssNode, SelectorList } from 'css-tree'
import parse from 'css-tree/selector-parser'
import { NESTING_LIMIT, TOO_DEEP, TOO_MANY_SEARCHES } from './selector-limits.ts'

/** The pseudo-classes without arguments that Chromium knows. */
const PLAIN = new Set([
  'active',
  'any-link',
  'autofill',
  'checked',
  'default',
  'defined',
  'disabled',
  'empty',
  'enabled',
  'first-child',
  'first-of-type',
  'focus',
  'focus-visible',
  'focus-within',
  'fullscreen',
  'hover',
  'in-range',
  'indeterminate',
  'invalid',
  'last-child',
  'last-of-type',
  'link',
  'modal',
  'only-child',
  'only-of-type',
  'open',
  'optional',
  'out-of-range',
  'picture-in-picture',
  'placeholder-shown',
  'popover-open',
  'read-only',
  'read-write',
  'required',
  'root',
  'scope',
  'target',
  'user-invalid',
  'user-valid',
  'valid',
  'visited',
])
const WITH_ARGUMENTS = /^(?:is|where|not|has|lang|dir|nth(?:-last)?-(?:child|of-type))$/

/** The parser takes parts in any order; browsers do not. */
const LETTERS: Partial<Record<CssNode['type'], string>> = {
  Combinator: 'c',
  TypeSelector: 't',
  ClassSelector: 's',
  IdSelector: 's',
  AttributeSelector: 's',
  PseudoClassSelector: 's',
}
/** `*|a` and `|a` name none. */
const HAS_NAMESPACE = /^[^|*]+\|/
const ORDER = /^(?:t|t?s+)(?:c(?:t|t?s+))*$/

/**
 * Returns why a browser would refuse the selector or take long for it, or null if it may be used. It knows what Chromium knew when it
 * was written: where a browser can be asked, that one decides (`SelectorCheck`), and this one says why.
 */
export function selectorProblem(text: string): string | null {
  const problems: string[] = []
  let searches = 0
  try {
    const onParseError = (error: Error) => {
      throw error
    }
    checkList(parse(text, { onParseError }) as SelectorList, 0)
  } catch (error) {
    return `is not a CSS selector: ${(error as Error).message}`
  }
  if (/(?<!\\),\s*$/.test(text)) return 'is not a CSS selector: nothing after a comma'
  // Each costs a search of its own for every element.
  if (searches > 1) problems.push(TOO_MANY_SEARCHES)
  return problems[0] ?? null

  function checkList({ children: selectors }: SelectorList, depth: number, isRelative = false): void {
    if (depth > NESTING_LIMIT) problems.push(TOO_DEEP)
    if (selectors.isEmpty) problems.push('is not a CSS selector: a part is empty')
    for (const selector of selectors) {
      const parts = selector.type === 'Selector' ? selector.children.toArray() : []
      const order = parts.map(({ type }) => LETTERS[type] ?? '?').join('')
      if (!ORDER.test(isRelative ? order.replace(/^c/, '') : order))
        problems.push('is not a CSS selector of elements')
      for (const part of parts) checkPart(part, depth)
    }
  }

  function checkPart(part: CssNode, depth: number): void {
    switch (part.type) {
      case 'Combinator':
        if (!' >+~'.includes(part.name)) problems.push('has a combinator that browsers do not know')
        break
      case 'IdSelector':
        if (/^-?(?:\d|$)/.test(part.name)) problems.push(`is not a CSS selector: unexpected #${part.name}`)
        break
      case 'TypeSelector':
        if (HAS_NAMESPACE.test(part.name)) problems.push('has a namespace')
        break
      case 'AttributeSelector':
        if (HAS_NAMESPACE.test(part.name.name)) problems.push('has a namespace')
        if (!/^i?$/i.test(part.flags ?? '')) problems.push(`has the unknown flag ${part.flags}`)
        break
      case 'PseudoClassSelector': {
        const name = part.name.toLowerCase()
        const isKnown = part.children === null ? PLAIN.has(name) : WITH_ARGUMENTS.test(name)
        if (!isKnown) problems.push(`has the pseudo-class :${name}, which browsers do not know`)
        if (part.children?.isEmpty) problems.push(`has an empty :${name}()`)
        if (name === 'has') searches++
        for (const argument of part.children ?? []) {
          const list = argument.type === 'Nth' ? argument.selector : argument
          if (list?.type !== 'SelectorList') continue
          if (name.endsWith('-of-type')) problems.push(`has a selector in :${name}()`)
          checkList(list, depth + 1, name === 'has')
        }
      }
    }
  }
}
