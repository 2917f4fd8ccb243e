import type { Queryable } from '../../db/transaction.ts'
import { readDomainSettings } from '../../sites/domain-settings.ts'
import type { PageId } from '../../store/page-id.ts'
import { readStatement } from '../statement.ts'

/** `textChars` null: stored by an older version. */
export type LastGood = {
  status: number
  textChars: number | null
  renderedAtMs: number
  /** When a newer render was first refused; null: none was since. */
  doubtedAtMs: number | null
  keepMs: number
}

/** Columns of `page`, all null where nothing is stored, and the settings of its domain. */
export type LastGoodRow = {
  status: number | null
  text_chars: number | null
  rendered_at: Date | null
  doubted_at: Date | null
  settings: unknown
}

/** What is stored under a path, without its body; null: nothing. */
export function lastGoodOf() {
  const statement = readStatement('last-good')
  return async (client: Queryable, page: PageId): Promise<LastGood | null> => {
    const { rows } = await client.query<LastGoodRow>({ ...statement, values: [page.domain, page.path] })
    return rows[0] === undefined ? null : lastGoodFrom(rows[0])
  }
}

export function lastGoodFrom(row: LastGoodRow): LastGood | null {
  if (row.status === null || row.rendered_at === null) return null
  return {
    status: row.status,
    textChars: row.text_chars,
    renderedAtMs: row.rendered_at.getTime(),
    doubtedAtMs: row.doubted_at?.getTime() ?? null,
    keepMs: readDomainSettings(row.settings).keep_seconds * 1_000,
  }
}
