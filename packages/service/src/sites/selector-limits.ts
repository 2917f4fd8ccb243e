/// <reference path="./css-tree.d.ts" />
import { tokenize, tokenTypes } from 'css-tree/tokenizer'
import { ident } from 'css-tree/utils'

/** How deep a selector may stand in pseudo-classes inside pseudo-classes. */
export const NESTING_LIMIT = 3
export const TOO_DEEP = `must nest at most ${NESTING_LIMIT} pseudo-classes`
export const TOO_MANY_SEARCHES = 'must have at most one :has()'

/** Their arguments are no selectors, except behind the `of` of `:nth-child(2n of a)`. */
const WITHOUT_SELECTORS = /^(?:lang|dir|nth(?:-last)?-(?:child|of-type))$/

/** An open parenthesis. `counts`: what stands in it may be a selector. */
type Open = { name: string; counts: boolean }

/**
 * Returns why a selector is not given to any browser, or null: it would take long in each page, or could not be stored.
 * Reads tokens only, so it holds for whatever a browser makes of the selector.
 */
export function selectorLimitProblem(text: string): string | null {
  if (text.includes('\0') || !text.isWellFormed())
    return 'is not a CSS selector: it has a character of no text'
  const open: Open[] = []
  let deepest = 0
  let searches = 0
  tokenize(text, (type, start, end) => {
    switch (type) {
      case tokenTypes.Function: {
        const name = ident.decode(text.slice(start, end - 1)).toLowerCase()
        if (name === 'has') searches++
        open.push({ name, counts: !WITHOUT_SELECTORS.test(name) })
        break
      }
      case tokenTypes.LeftParenthesis:
        open.push({ name: '', counts: true })
        break
      case tokenTypes.RightParenthesis:
        open.pop()
        break
      case tokenTypes.Ident: {
        const innermost = open.at(-1)
        const isOf = ident.decode(text.slice(start, end)).toLowerCase() === 'of'
        if (isOf && innermost?.name.startsWith('nth-')) innermost.counts = true
      }
    }
    deepest = Math.max(deepest, open.filter(({ counts }) => counts).length)
  })
  if (deepest > NESTING_LIMIT) return TOO_DEEP
  // Each costs a search of its own for every element.
  return searches > 1 ? TOO_MANY_SEARCHES : null
}
