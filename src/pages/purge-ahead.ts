import { setTimeout as sleep } from 'node:timers/promises'

import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import type { PurgeWhat } from './purge.ts'

/** Up to so many pages a purge deletes in its own transaction: a second, at most. */
export const AHEAD_FROM = 5_000
const STEP = 1_000
const REST_MS = 20

const DELETE = `
  with piece as materialized (
    select path from page where domain_id = $1 and starts_with(path, $2) and path > $3
     order by path limit $4 for update skip locked),
  gone as (
    delete from page using piece where page.domain_id = $1 and page.path = piece.path returning page.path)
  select (select count(*) from gone)::integer as deleted, (select max(path) from piece) as last`

/**
 * Deletes most of what a large purge is to delete, in small steps, and gives how
 * many pages. `purgePages` comes afterwards and makes it true: until then what
 * nodes hold in memory is served, and renders of the domain go on. In one
 * transaction instead, every render that is stored meanwhile would wait for the
 * end of it, minutes for a million pages, in a slot that others need. The domain
 * id was obtained through its account.
 */
export async function purgeAhead(db: Queryable, domain: DomainId, what: PurgeWhat): Promise<number> {
  if (what.kind !== 'all' && what.kind !== 'prefix') return 0
  const prefix = what.kind === 'prefix' ? what.prefix : ''
  const { rowCount: isLarge } = await db.query(
    'select from page where domain_id = $1 and starts_with(path, $2) offset $3 limit 1',
    [domain, prefix, AHEAD_FROM],
  )
  if (isLarge === 0) return 0
  let deleted = 0
  for (let after: string | null = ''; after !== null; ) {
    const { rows }: { rows: { deleted: number; last: string | null }[] } = await db.query(DELETE, [
      ...[domain, prefix, after, STEP],
    ])
    deleted += rows[0]!.deleted
    after = rows[0]!.last
    await sleep(REST_MS)
  }
  return deleted
}
