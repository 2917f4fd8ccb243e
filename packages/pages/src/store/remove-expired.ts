import { DEFAULT_DOMAIN_SETTINGS } from '@prepaint/contract/settings/domain-settings.ts'
import { deleteInSteps, removeOldPaths, type Steps } from '@prepaint/postgres/remove-old.ts'
import type pg from 'pg'
import { ASKED_FOR_DAYS } from './known-paths.ts'

/** Sitemaps are read daily while crawlers request them. */
const SITEMAP_SLACK_DAYS = 2

const SITEMAP_DAYS = 90

/** An unreadable setting counts as absent. */
const KEEP = `make_interval(secs => greatest(
  case when jsonb_typeof(domain.settings -> 'keep_seconds') = 'number'
       then (domain.settings ->> 'keep_seconds')::float8 else $2 end,
  -- A rule may keep its pages longer.
  (select max(seconds::float8) from jsonb_path_query(domain.settings, '$.rules[*].keep_seconds ? (@.type() == "number")') seconds)))`

const pastKeeping = (table: 'page' | 'redirect', at: 'rendered_at' | 'stored_at') =>
  `with old as materialized (
     select found.domain_id, found.path, found.variant from domain cross join lateral (
       select domain_id, path, variant from ${table}
        where domain_id = domain.id and ${at} < now() - ${KEEP}
        order by ${at} limit $1 for update skip locked) found
     limit $1)
   delete from ${table} using old 
    where ${table}.domain_id = old.domain_id and ${table}.path = old.path and ${table}.variant = old.variant`

const STEPS: readonly { sql: string; values: readonly unknown[] }[] = [
  { sql: pastKeeping('page', 'rendered_at'), values: [DEFAULT_DOMAIN_SETTINGS.keep_seconds] },
  { sql: pastKeeping('redirect', 'stored_at'), values: [DEFAULT_DOMAIN_SETTINGS.keep_seconds] },
  {
    sql: `with old as materialized (
            select domain_id, path from known_path
             where source = 'crawler' and seen_at < now() - make_interval(days => $2)
             order by seen_at limit $1 for update skip locked)
          delete from known_path k using old
           where k.domain_id = old.domain_id and k.path = old.path and k.source = 'crawler'`,
    values: [ASKED_FOR_DAYS],
  },
  {
    // Every stored sitemap of the domain was read since, and none listed the path.
    sql: `with old as materialized (
            select gone.domain_id, gone.path
              from (select domain_id, min(fetched_at) as read_at from sitemap group by 1) oldest
             cross join lateral (
               select domain_id, path from known_path
                where domain_id = oldest.domain_id and source = 'sitemap'
                  and seen_at < oldest.read_at - make_interval(days => $2)
                limit $1 for update skip locked) gone
             limit $1)
          delete from known_path k using old
           where k.domain_id = old.domain_id and k.path = old.path and k.source = 'sitemap'`,
    values: [SITEMAP_SLACK_DAYS],
  },
  {
    sql: `with old as materialized (
            select domain_id, path from sitemap where fetched_at < now() - make_interval(days => $2)
             limit $1 for update skip locked)
          delete from sitemap using old where sitemap.domain_id = old.domain_id and sitemap.path = old.path`,
    values: [SITEMAP_DAYS],
  },
]

/** Returns how many rows were removed. A page that is being rendered again stays. */
export async function removeExpired(pool: pg.Pool, options: Steps = {}): Promise<number> {
  let removed = 0
  for (const { sql, values } of STEPS) removed += await deleteInSteps(pool, sql, values, options)
  return removed
}

const LAST_RENDER_KEPT_DAYS = 30

/** Returns how many rows were removed. */
export function removeOldLastRenders(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOldPaths(
    pool,
    { table: 'last_render', at: 'ended_at', keptDays: LAST_RENDER_KEPT_DAYS },
    steps,
  )
}
