import type { Queryable } from '../../db/transaction.ts'
import type { DomainId, PagePath } from '../../ids.ts'

/** A path counts as known for so long after a crawler asked for it. */
const ASKED_FOR_DAYS = 30

/** A path that is known, and what is stored of it, page or redirect. */
export type KnownPage = {
  path: PagePath
  stored: { status: number; renderedAtMs: number; staleSinceMs: number | null } | null
  /** By the sitemap that names it. */
  changedAtMs: number | null
}

type Row = {
  path: PagePath
  status: number | null
  rendered_at: Date
  stale_since: Date | null
  lastmod: Date | null
}

/**
 * The next known paths of a domain after `after`, byte by byte in order: what
 * is stored, stands in its sitemaps, or was asked for by a crawler in the last
 * 30 days. Each part reads no further than the batch, in the order of its
 * index. The domain id was obtained through its account.
 */
export async function nextKnownPages(
  db: Queryable,
  domain: DomainId,
  after: string,
  limit: number,
): Promise<KnownPage[]> {
  const { rows } = await db.query<Row>(
    `with known as (
       select path from (
         (select path from page where domain_id = $1 and path > $2 order by path limit $3)
         union
         (select distinct path from known_path
           where domain_id = $1 and path > $2
             and (source = 'sitemap' or seen_at > now() - make_interval(days => $4))
           order by path limit $3)
       ) either
       order by path limit $3)
     select known.path, coalesce(p.status, r.status) as status, coalesce(p.rendered_at, r.stored_at) as rendered_at,
            p.stale_since, s.lastmod
       from known
       left join page p on p.domain_id = $1 and p.path = known.path
       left join redirect r on r.domain_id = $1 and r.path = known.path
       left join known_path s on s.domain_id = $1 and s.path = known.path and s.source = 'sitemap'
      order by known.path`,
    [domain, after, limit, ASKED_FOR_DAYS],
  )
  return rows.map((row) => ({
    path: row.path,
    stored:
      row.status === null
        ? null
        : {
            status: row.status,
            renderedAtMs: row.rendered_at.getTime(),
            staleSinceMs: row.stale_since?.getTime() ?? null,
          },
    changedAtMs: row.lastmod?.getTime() ?? null,
  }))
}

/** How many there are. */
export async function countKnownPages(db: Queryable, domain: DomainId): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (
       select path from page where domain_id = $1
       union
       select path from known_path
        where domain_id = $1 and (source = 'sitemap' or seen_at > now() - make_interval(days => $2))) known`,
    [domain, ASKED_FOR_DAYS],
  )
  return rows[0]!.n
}

/** Of a path, or of a text that names paths: `/a?token=x` becomes `/a?…`. */
export function withoutQuery(text: string): string {
  return text.replace(/\?[^\s"'<>]+/g, '?…')
}
