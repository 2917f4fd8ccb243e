import type { Queryable } from '../../db/transaction.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { RecentMap } from '../../recent-map.ts'

/** What came to nothing is not tried again before. */
const AGAIN_AFTER_MINUTES = 60
/** Domains of which a node remembers how far it has looked; of one that is forgotten it begins anew. */
const REMEMBERED = 1_000

/** Visits of a domain: with more than `all` a look takes the newest `piece`, and as many of those behind them. */
export type VisitBounds = { all: number; piece: number }
const BOUNDS: VisitBounds = { all: 100_000, piece: 10_000 }

/** A visit, as PostgreSQL writes it: those behind it are older. */
type Place = { asked: string; path: string }
const FIRST: Place = { asked: 'infinity', path: '' }

type StalestWanted = { domain: DomainId; freshSeconds: number; limit: number; nowMs: number }

/**
 * Stale pages that crawlers have asked for, the last ones first; none that is queued, or was tried lately. `isMore`:
 * there are older visits that have not been looked at.
 */
export type Stalest = (
  db: Queryable,
  wanted: StalestWanted,
) => Promise<{ paths: PagePath[]; isMore: boolean }>

/**
 * Nearly all pages of a site may be fresh: to find those that are not takes a look at every one that was visited, which is
 * seconds for a million of them (`bench/refresh-ahead.ts`), and more than a statement may take for many millions. Of so large
 * a site a look takes the newest visits, and a piece of the others; how far it has come a node remembers by itself, and what it
 * forgets costs another round.
 */
export function createStalest(bounds: VisitBounds = BOUNDS): Stalest {
  const places = new RecentMap<Place>({ limit: REMEMBERED })

  return async (db, wanted) => {
    const { domain, limit } = wanted
    const key = String(domain)
    if ((await placeBehind(db, domain, FIRST, bounds.all)) === null) {
      places.delete(key)
      return { paths: await among(db, wanted, FIRST, null), isMore: false }
    }
    const newest = await among(db, wanted, FIRST, bounds.piece)
    if (newest.length === limit) return { paths: newest, isMore: true }
    const from = places.get(key) ?? (await placeBehind(db, domain, FIRST, bounds.piece))
    if (from === null) return { paths: newest, isMore: false }
    const older = await among(db, { ...wanted, limit: limit - newest.length }, from, bounds.piece)
    // Not past a piece in which there was something: there may be more than there was room for, and the queue may refuse it.
    const next = older.length > 0 ? from : await placeBehind(db, domain, from, bounds.piece)
    if (next === null) places.delete(key)
    else places.set(key, next)
    // While the newest become fewer, some that were among them are behind the place.
    return { paths: [...new Set([...newest, ...older])], isMore: next !== null }
  }
}

/** Where `count` visits behind a place end; null: there are no more than that. */
async function placeBehind(
  db: Queryable,
  domain: DomainId,
  from: Place,
  count: number,
): Promise<Place | null> {
  const { rows } = await db.query<Place>(
    `with piece as (
       select asked_at, path from last_visit
        where domain_id = $1 and (asked_at, path) < ($2::timestamptz, $3)
        order by asked_at desc, path desc offset $4::integer - 1 limit 2)
     select asked_at::text as asked, path from piece where (select count(*) from piece) = 2
      order by asked_at desc, path desc limit 1`,
    [domain, from.asked, from.path, count],
  )
  return rows[0] ?? null
}

/** Among all visits behind a place, or among the next `piece`. */
async function among(
  db: Queryable,
  { domain, freshSeconds, limit, nowMs }: StalestWanted,
  from: Place,
  piece: number | null,
): Promise<PagePath[]> {
  const visits =
    piece === null
      ? 'last_visit'
      : `(select domain_id, path, asked_at from last_visit
           where domain_id = $1 and (asked_at, path) < ($6::timestamptz, $7)
           order by asked_at desc, path desc limit $8)`
  const { rows } = await db.query<{ path: PagePath }>(
    `select v.path from ${visits} v join page p on p.domain_id = v.domain_id and p.path = v.path
      where v.domain_id = $1 and p.status < 400
        and (p.stale_since <= $3 or p.rendered_at < $3::timestamptz - make_interval(secs => $4))
        and not exists (select from job j where j.domain_id = $1 and j.path = v.path
                         and j.state in ('queued', 'running'))
        and not exists (select from last_render r where r.domain_id = $1 and r.path = v.path and r.outcome <> 'rendered'
                         and r.ended_at > now() - make_interval(mins => $5))
      order by v.asked_at desc limit $2`,
    [
      ...[domain, limit, new Date(nowMs), freshSeconds, AGAIN_AFTER_MINUTES],
      ...(piece === null ? [] : [from.asked, from.path, piece]),
    ],
  )
  return rows.map(({ path }) => path)
}
