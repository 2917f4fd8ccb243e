import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { countForeign, countStored } from './check.ts'

export type RestoredBodies = {
  /** Bodies that stay in the object store. */
  kept: number
  /** Those of them that another database may own. */
  foreign: number
  /** Pages that were dropped, because their bodies are in a store that PREPAINT_BODIES does not name. */
  dropped: number
}

/**
 * Call in the transaction that restores a backup, while triggers are disabled. `storeId` is that of the store that
 * PREPAINT_BODIES names, or null if it is not set. Kept keys are foreign, because the database that the backup came from may go on
 * using and deleting them. With `takesOver` that one is gone: only keys that were foreign to it stay so.
 */
export async function settleRestoredBodies(
  db: Queryable,
  storeId: string | null,
  { takesOver }: { takesOver: boolean },
): Promise<RestoredBodies> {
  // The backup is of a version without object stores.
  const { rows: known } = await db.query<{ name: string | null }>(
    `select to_regclass('body_store')::text as name`,
  )
  if (known[0]!.name === null) return { kept: 0, foreign: 0, dropped: 0 }
  const { rows: stores } = await db.query<{ id: string }>('select id from body_store')
  const isSame = storeId !== null && stores[0]?.id === storeId
  if (!isSame || !takesOver) await db.query('delete from body_gone')
  if (isSame) {
    if (!takesOver) {
      await db.query('update page set body_foreign = true where body_key is not null')
      await db.query('update page_form set body_foreign = true where body_key is not null')
    }
    return { kept: await countStored(db), foreign: await countForeign(db), dropped: 0 }
  }
  await db.query('delete from body_store')
  await db.query('delete from page_form where body_br is null')
  const { rows } = await db.query<{ dropped: number }>(
    `with gone as (delete from page where body_br is null returning domain_id, path, status),
     remembered as (
       insert into known_path (domain_id, path, source, seen_at)
       select distinct domain_id, path, 'crawler', now() from gone where status < 400 order by domain_id, path
       on conflict (domain_id, path, source) do update set seen_at = greatest(known_path.seen_at, excluded.seen_at))
     select count(*)::integer as dropped from gone`,
  )
  // Bodies in rows need no key.
  await db.query(
    'update page set body_key = null, body_bytes = null, body_sum = null where body_key is not null',
  )
  await db.query(
    'update page_form set body_key = null, body_bytes = null, body_sum = null where body_key is not null',
  )
  return { kept: 0, foreign: 0, dropped: rows[0]!.dropped }
}
