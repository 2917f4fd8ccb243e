import { PATH_LIMIT_CHARS } from './path.ts'

/** Which of a domain's pages somebody looks for: those that begin with the text, or that hold it, in any case of letters. */
export type PageMatch = { kind: 'prefix' | 'contains'; text: string }

/** As long as what is looked for can be. */
export const MATCH_LIMIT_CHARS = PATH_LIMIT_CHARS

/**
 * What a person typed, spelt as stored paths are: they are ASCII, and `é` stands
 * in them as `%C3%A9`. null: no page can match, or all do.
 */
export function pageMatch(kind: PageMatch['kind'], typed: string): PageMatch | null {
  const text = typed
    .trim()
    .toWellFormed()
    .replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part))
  return text === '' ? null : { kind, text }
}

/**
 * The condition on `path`, which an index on paths decides by itself; `put`
 * gives a parameter's name for a value. Empty: no condition.
 */
export function matchCondition(
  match: PageMatch | null,
  path: string,
  put: (value: string) => string,
): string {
  if (match === null) return ''
  return match.kind === 'prefix'
    ? `and starts_with(${path}, ${put(match.text)})`
    : `and strpos(lower(${path}), ${put(match.text.toLowerCase())}) > 0`
}
