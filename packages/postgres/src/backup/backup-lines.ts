import { DatabaseError } from '../connection.ts'
import { EXCLUDED } from './backup.ts'

/** How many rows each table has, and how many the end of the backup says. */
export type RowCounts = { counts: Record<string, number>; wanted: Record<string, number> }

/**
 * Whether the rows of a table are left out: 0.2.0 puts such tables into backups of an upgraded database. Throws
 * DatabaseError for a table that this version does not know.
 */
export function isNotRestored(table: string, known: ReadonlySet<string>): boolean {
  if (EXCLUDED.has(table)) return true
  if (known.has(table)) return false
  throw new DatabaseError(`The backup has a table ${table} that is unknown here.`)
}

export function parsed<T extends object>(line: string | null): T {
  try {
    return JSON.parse(line ?? '') as T
  } catch (cause) {
    throw new DatabaseError('This is not a backup of Prepaint.', { cause })
  }
}
