import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'

/** Carries the id of the domain whose run was asked for. */
export const WARM_RUN_CHANNEL = 'warm_run'

/** A path counts as known for so long after a crawler asked for it. */
const ASKED_FOR_DAYS = 30

/**
 * Notes that all known paths of the domain are to be rendered again, and
 * returns at once: the row is the whole state, so nothing is lost when this
 * node dies a moment later, and whichever node is free carries it on
 * (`startWarmRuns`). Asking again during a run begins it anew. The domain id
 * was obtained through its account.
 */
export async function requestWarmRun(db: Queryable, domain: DomainId): Promise<void> {
  await db.query(
    `with run as (
       insert into warm_run (domain_id) values ($1)
       on conflict (domain_id) do update set after_path = '', requested_at = now()
       returning domain_id
     )
     select pg_notify($2, domain_id::text) from run`,
    [domain, WARM_RUN_CHANNEL],
  )
}

/**
 * The next known paths of a domain after `after`, byte by byte in order: what
 * is stored, stands in its sitemaps, or was asked for by a crawler in the last
 * 30 days. Each part reads no further than the batch, in the order of its index.
 */
export async function nextKnownPaths(
  db: Queryable,
  domain: DomainId,
  after: string,
  limit: number,
): Promise<PagePath[]> {
  const { rows } = await db.query<{ path: PagePath }>(
    `select path from (
       (select path from page where domain_id = $1 and path > $2 order by path limit $3)
       union
       (select distinct path from known_path
        where domain_id = $1 and path > $2
          and (source = 'sitemap' or seen_at > now() - make_interval(days => $4))
        order by path limit $3)
     ) known
     order by path limit $3`,
    [domain, after, limit, ASKED_FOR_DAYS],
  )
  return rows.map(({ path }) => path)
}
