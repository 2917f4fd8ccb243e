/** The fields of robots.txt that crawlers know, as they are usually written. */
const FIELDS = [
  'User-agent',
  'Disallow',
  'Allow',
  'Sitemap',
  'Crawl-delay',
  'Host',
  'Clean-param',
  'Noindex',
  'Request-rate',
  'Visit-time',
  'Content-Signal',
  'Content-Usage',
]

/** So many letters may be wrong in a word that still means a field. */
const MAX_EDITS = 2

export type MisspeltField = { line: number; written: string; meant: string }

/** Finds lines of robots.txt that crawlers ignore because their field is misspelt. Lines count from 1. */
export function misspeltFields(text: string): MisspeltField[] {
  return text.split('\n').flatMap((content, at) => {
    const written = /^\s*([A-Za-z][\w-]*)\s*:/.exec(content)?.[1]
    const meant = written === undefined ? null : nearestField(written)
    return written === undefined || meant === null ? [] : [{ line: at + 1, written, meant }]
  })
}

/** Returns null if the word is a field, or is like none. */
function nearestField(word: string): string | null {
  const lower = word.toLowerCase()
  const found = FIELDS.map((field) => ({ field, edits: editsBetween(lower, field.toLowerCase()) }))
  if (found.some(({ edits }) => edits === 0)) return null
  const [nearest] = found.toSorted((first, second) => first.edits - second.edits)
  return nearest !== undefined && nearest.edits <= MAX_EDITS ? nearest.field : null
}

/** Counts the letters to insert, remove or replace to make one word of the other (Levenshtein). */
function editsBetween(word: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...word].entries()) {
    const next = [at + 1]
    for (const [place, otherLetter] of [...other].entries()) {
      const replaced = row[place]! + (letter === otherLetter ? 0 : 1)
      next.push(Math.min(replaced, row[place + 1]! + 1, next[place]! + 1))
    }
    row = next
  }
  return row.at(-1)!
}
