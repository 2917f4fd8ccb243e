import type { DomainId } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { Rate } from '@prepaint/postgres/rates'
import { transaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { forgetRefusals } from '../../store/refused-pages.ts'
import { buildBefore, compareBuilds, markBuildStale } from '../../store/stale-pages.ts'
import { restartRenders } from '../jobs/cancel.ts'
import type { Completion } from '../jobs/complete.ts'
import type { Found } from '../judging/effect.ts'
import { REFRESH_AHEAD_TASK } from './refresh-ahead.ts'

/** Pages that must have changed from the old build to the new one ... */
export const AGREEING_PAGES = 3
/** ... plus as many per page of the old build seen meanwhile (rolling deploys, A/B tests), up to this limit. */
const MIXED_LIMIT = 20
/** Later deploys within 24 hours are ignored. */
export const DEPLOYS_A_DAY = 4
const A_DAY = new Rate({ what: 'deploy', most: DEPLOYS_A_DAY, withinMs: 86_400_000, window: 'sliding' })
/** Several nodes may see a deploy at the same time. One of them acts on it. */
const A_MINUTE = new Rate({ what: 'deploy at once', most: 1, withinMs: 60_000, window: 'sliding' })

/**
 * Finds deploys of sites. One page proves nothing: its document may vary or be part of an A/B test. Several pages must have
 * changed, and the old build must not have been seen since.
 */
export class DeployWatch {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #log: Log

  constructor(pool: pg.Pool, clock: Clock, log: Log) {
    this.#pool = pool
    this.#clock = clock
    this.#log = log
  }

  /** Call after a job ends. After a deploy, marks the pages of the old build as stale and forgets refused pages. */
  async after(page: PageId, found: Found, end: Completion): Promise<void> {
    if (end.state !== 'done' || found.kind !== 'rendered') return
    const fresh = found.application ?? null
    if (fresh === null) return
    const { domain } = page
    const old = await buildBefore(this.#pool, page, fresh)
    if (old === null) return
    const limits = { replaced: AGREEING_PAGES * MIXED_LIMIT, mixed: MIXED_LIMIT }
    const { replaced, mixed } = await compareBuilds(this.#pool, domain, { old, fresh }, limits)
    if (mixed === MIXED_LIMIT || replaced < AGREEING_PAGES * (1 + mixed)) return
    if (!(await beginDeploy(this.#pool, domain))) return
    // Renders that began before the deploy was seen may have the old build. The deploy is marked after their results.
    await transaction(this.#pool, async (client) => {
      await restartRenders(client, domain)
      await forgetRefusals(client, domain)
    })
    const marked = await markBuildStale(this.#pool, domain, old, this.#clock.nowMs())
    await this.#pool.query(
      `select record_event(d.account_id, d.id, null, 'deploy.detected',
                           'deploy ' || d.id || ' ' || extract(epoch from f.deploys[cardinality(f.deploys)]),
                           json_build_object('domain', d.custom_domain, 'pages', $2::integer))
         from domain d join freshness f on f.domain_id = d.id where d.id = $1`,
      [domain, marked],
    )
    this.#log.info({ domain, marked }, 'a site was deployed: pages of its old build are stale')
  }
}

/**
 * Counts the deploy and makes the domain's refreshes due. Returns false if another node acts on it, or if it is one too many.
 * What it leaves undone is done again with the next page after a minute.
 */
async function beginDeploy(pool: pg.Pool, domain: DomainId): Promise<boolean> {
  return transaction(pool, async (client) => {
    for (const rate of [A_MINUTE, A_DAY]) {
      if ((await rate.take(client, `domain ${domain}`)) !== null) return false
    }
    // The times are facts that incidents are compared with, and refreshes ahead begin at once.
    const { rowCount } = await client.query(
      `with noted as (
         insert into freshness as known (domain_id, deploys) select id, array[now()] from domain where id = $1
         on conflict (domain_id) do update set
           deploys = array(select at from unnest(known.deploys) at where at > now() - interval '1 day') || now()
         returning domain_id)
       select ask_task($2, d.id::text, d.account_id) from noted join domain d on d.id = noted.domain_id`,
      [domain, REFRESH_AHEAD_TASK],
    )
    return rowCount === 1
  })
}
