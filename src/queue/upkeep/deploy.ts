import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import type { DomainId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { buildBefore, compareBuilds, markBuildStale } from '../../store/page-builds.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import type { Completion } from '../jobs/complete.ts'
import type { Found } from '../judging/effect.ts'

/** A deploy is recognised when so many pages have the new build instead of the old one ... */
export const AGREEING_PAGES = 3
/** ... and as many again for each page that came of the old one meanwhile: servers that are deployed one by one, or an A/B test. */
const MIXED_LIMIT = 20
/** Deploys of a domain in 24 hours that are acted on. */
export const DEPLOYS_A_DAY = 4

export type DeployWatch = {
  /** Call when a job has ended and its page is stored. */
  after(job: Pick<ClaimedJob, 'page'>, found: Found, end: Completion): Promise<void>
}

/**
 * Recognises that a site's application was deployed, by the scripts and style sheets that its documents load, and marks
 * the pages of the old build stale: they are still served, and rendered again when crawlers ask for them.
 *
 * One page proves nothing: its document may never be the same twice, or be part of an A/B test. The evidence is that
 * several pages which had one build now have another, and that the old one has not been seen since.
 */
export function createDeployWatch(deps: { pool: pg.Pool; clock: Clock; log: Log }): DeployWatch {
  const { pool, clock, log } = deps
  return {
    async after({ page }, found, end) {
      if (end.state !== 'done' || found.kind !== 'rendered') return
      const fresh = found.application ?? null
      if (fresh === null) return
      const { domain } = page
      const old = await buildBefore(pool, page, fresh)
      if (old === null) return
      const limits = { replaced: AGREEING_PAGES * MIXED_LIMIT, mixed: MIXED_LIMIT }
      const { replaced, mixed } = await compareBuilds(pool, domain, { old, fresh }, limits)
      if (mixed === MIXED_LIMIT || replaced < AGREEING_PAGES * (1 + mixed)) return
      if (!(await isWithinLimit(pool, domain))) return
      const marked = await markBuildStale(pool, domain, old, clock.nowMs())
      log.info({ domain, marked }, 'a site was deployed: pages of its old build are stale')
    },
  }
}

/** Notes the deploy; when several nodes see it at once, only one gets true. What it could not finish, the next one does after a minute. */
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
