import { readDomainSettings } from '../accounts/domain-settings.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { readStatement } from './statement.ts'

/** `textChars` null: stored by an older version. */
export type LastGood = {
  status: number
  textChars: number | null
  renderedAtMs: number
  /** When a newer render was first refused; null: none was since. */
  doubtedAtMs: number | null
  keepMs: number
}

type Row = {
  status: number
  text_chars: number | null
  rendered_at: Date
  doubted_at: Date | null
  settings: unknown
}

/** What is stored under a path, without its body; null: nothing. */
export function lastGoodOf() {
  const statement = readStatement('last-good')
  return async (client: Queryable, domain: DomainId, path: PagePath): Promise<LastGood | null> => {
    const { rows } = await client.query<Row>({ ...statement, values: [domain, path] })
    const row = rows[0]
    if (row === undefined) return null
    return {
      status: row.status,
      textChars: row.text_chars,
      renderedAtMs: row.rendered_at.getTime(),
      doubtedAtMs: row.doubted_at?.getTime() ?? null,
      keepMs: readDomainSettings(row.settings).keep_seconds * 1_000,
    }
  }
}
