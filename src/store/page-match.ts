import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
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

const BATCH = 1_000

/**
 * The paths of all stored pages of a domain, byte by byte in order, in batches
 * that are never empty. Each batch is one short query that goes on after the
 * last path, so that neither a connection nor a snapshot of the database is
 * held for a reader who takes his time. The domain id was obtained through its
 * account.
 */
export async function* listStoredPaths(
  db: Queryable,
  domain: DomainId,
): AsyncGenerator<readonly PagePath[], void> {
  let after = ''
  for (;;) {
    const { rows } = await db.query<[PagePath]>({
      name: 'stored-paths',
      rowMode: 'array',
      text: 'select path from page where domain_id = $1 and path > $2 order by path limit $3',
      values: [domain, after, BATCH],
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(([path]) => path)
    if (rows.length < BATCH) return
    after = last[0]
  }
}
