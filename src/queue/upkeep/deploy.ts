import type pg from 'pg'

import type { Clock } from '../../clock.ts'
import type { DomainId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { PageId } from '../../store/page-id.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import type { Completion } from '../jobs/complete.ts'
import type { Found } from '../judging/effect.ts'

/** So many pages of one build must have become pages of another one ... */
export const AGREEING_PAGES = 3
/** ... and as many again for each page that came of the old one meanwhile: servers that are deployed one by one, or two variants of a test. */
const BETWEEN_LIMIT = 20
/** Deploys of a domain in 24 hours that are acted on. */
export const DEPLOYS_A_DAY = 4
/** Pages that one statement marks. */
const STEP = 2_000

export type DeployWatch = {
  /** Once a job has ended, with whatever was stored in its transaction. */
  after(job: Pick<ClaimedJob, 'page'>, found: Found, end: Completion): Promise<void>
}

/**
 * Sees that a site's application has been deployed anew, by the scripts and
 * style sheets that its documents ask for, and marks the pages of the old build
 * stale: they are served on, and rendered anew when crawlers ask for them.
 *
 * One page proves nothing. A page whose documents are never the same twice, a
 * test of two variants, sections with an application of their own: the evidence
 * is that several pages which had one and the same build now have another, and
 * that the old one has not been seen since. Only pages of that old build are marked.
 */
export function createDeployWatch(deps: { pool: pg.Pool; clock: Clock; log: Log }): DeployWatch {
  const { pool, clock, log } = deps
  return {
    async after({ page }, found, end) {
      if (end.state !== 'done' || found.kind !== 'rendered') return
      const fresh = found.application ?? null
      if (fresh === null) return
      const { domain } = page
      const old = await replacedBy(pool, page, fresh)
      if (old === null || !(await isDeployed(pool, domain, old, fresh))) return
      if (!(await isWithinLimit(pool, domain))) return
      const marked = await markStale(pool, domain, old, new Date(clock.nowMs()))
      log.info({ domain, marked }, 'a site was deployed anew: pages of its old build are stale')
    },
  }
}

/** The build that the page had before, where other pages still have it and the owner wants to know; else null. */
async function replacedBy(pool: pg.Pool, page: PageId, fresh: string): Promise<string | null> {
  const { rows } = await pool.query<{ old: string }>({
    name: 'deploy-replaced',
    text: `select p.previous_application as old from page p join domain d on d.id = p.domain_id
            where p.domain_id = $1 and p.path = $2 and p.application = $3 and p.previous_application <> p.application
              and coalesce(d.settings ->> 'refresh_on_deploy', 'true') <> 'false'
              and exists (select from page other
                           where other.domain_id = $1 and other.application = p.previous_application
                             and other.stale_since is null)`,
    values: [page.domain, page.path, fresh],
  })
  return rows[0]?.old ?? null
}

async function isDeployed(pool: pg.Pool, domain: DomainId, old: string, fresh: string): Promise<boolean> {
  const { rows } = await pool.query<{ between: number; agreeing: number }>(
    `with seen as (
       select (select max(rendered_at) from page
                where domain_id = $1 and application = $2 and stale_since is null) as last_old,
              (select min(rendered_at) from page
                where domain_id = $1 and application = $3 and stale_since is null) as first_fresh)
     select (select count(*)::int from (
               select from page where domain_id = $1 and application = $2 and stale_since is null
                  and rendered_at > (select first_fresh from seen) limit $4) b) as between,
            (select count(*)::int from (
               select from page where domain_id = $1 and application = $3 and stale_since is null
                  and rendered_at > (select last_old from seen) and previous_application = $2 limit $5) a) as agreeing`,
    [domain, old, fresh, BETWEEN_LIMIT, AGREEING_PAGES * BETWEEN_LIMIT],
  )
  const { between, agreeing } = rows[0]!
  return between < BETWEEN_LIMIT && agreeing >= AGREEING_PAGES * (1 + between)
}

/** Notes the deploy; of several nodes that see it at once, one. What it could not finish, the next one does after a minute. */
async function isWithinLimit(pool: pg.Pool, domain: DomainId): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into freshness as known (domain_id, deploys) select id, array[now()] from domain where id = $1
     on conflict (domain_id) do update set
       deploys = array(select at from unnest(known.deploys) at where at > now() - interval '1 day') || now(),
       next_at = now()
       where (select count(*) from unnest(known.deploys) at where at > now() - interval '1 day') < $2
         and not exists (select from unnest(known.deploys) at where at > now() - interval '1 minute')`,
    [domain, DEPLOYS_A_DAY],
  )
  return rowCount === 1
}

async function markStale(pool: pg.Pool, domain: DomainId, old: string, at: Date): Promise<number> {
  let marked = 0
  for (;;) {
    const { rowCount } = await pool.query(
      `update page set stale_since = $3 where domain_id = $1 and path in (
         select path from page where domain_id = $1 and application = $2 and stale_since is null
          order by path limit $4 for update skip locked)`,
      [domain, old, at, STEP],
    )
    marked += rowCount ?? 0
    if ((rowCount ?? 0) < STEP) break
  }
  await pool.query(`select pg_notify('invalidate', json_build_object('domain', $1::integer)::text)`, [domain])
  return marked
}
