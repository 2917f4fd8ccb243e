import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { type Queryable, retriedTransaction } from '../../db/transaction.ts'
import type { Log } from '../../log.ts'
import { startWhileDue } from '../../while-due.ts'
import { recordReports } from '../delivery/report.ts'
import type { Usual } from './facts.ts'
import { writeAction } from './incidents.ts'
import { type LookDeps, lookAtNames, lookAtOrigins } from './looks.ts'
import { readSamples } from './read-facts.ts'
import { advance, type Watch } from './watch.ts'

const EVERY_MS = 60_000
const LEAST_PAUSE_MS = 20
const BATCH = 200
const REMIND_AFTER_MS = 24 * 3_600_000

export type EvaluatorDeps = LookDeps & {
  plans: PlanCatalogue
  publicUrl: string | null
  /** Divides the times of docs/notifications.md. */
  speed: number
  log: Log
}

/** Every node tries once a minute; the database gives each round to one of them. */
export function startEvaluator(deps: EvaluatorDeps): { close(): Promise<void> } {
  const { pool, speed, log } = deps
  const everyMs = Math.max(LEAST_PAUSE_MS, EVERY_MS / speed)
  const closing = new AbortController()
  let looking: Promise<unknown> | null = null

  async function round(): Promise<boolean> {
    if (!(await isOurRound(pool, everyMs))) return false
    await evaluate(deps, closing.signal)
    // Not awaited: sites that do not answer must not delay the next round.
    looking ??= Promise.all([lookAtOrigins(deps, speed), lookAtNames(deps, speed)])
      .catch((error: unknown) => log.warn({ err: error }, 'origins and names could not be looked at'))
      .finally(() => {
        looking = null
      })
    return false
  }

  const loop = startWhileDue(everyMs / 4, round, (error) =>
    log.warn({ err: error }, 'domains could not be evaluated; trying again'),
  )
  return {
    async close() {
      closing.abort()
      await loop.close()
      await looking
    },
  }
}

async function isOurRound(pool: pg.Pool, everyMs: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update evaluation set started_at = clock_timestamp()
      where started_at <= clock_timestamp() - $1 * interval '1 millisecond'`,
    [everyMs * 0.9],
  )
  return rowCount === 1
}

/** One round over all domains, in short transactions. */
export async function evaluate(
  deps: Pick<EvaluatorDeps, 'pool' | 'plans' | 'publicUrl' | 'speed'>,
  signal?: AbortSignal,
): Promise<void> {
  const { pool, speed } = deps
  for (let after: number | undefined = 0; after !== undefined && signal?.aborted !== true; ) {
    const from: number = after
    after = await retriedTransaction(pool, (client) => evaluateBatch(client, deps, from))
  }
  await pool.query(
    `select resolve_incident(i.id, 'inactive') from incident i
       join domain d on d.id = i.domain_id join account a on a.id = d.account_id
      where i.state = 'open' and (not d.is_active or a.suspended_at is not null)`,
  )
  await pool.query(
    `select record_incident(id, 'mail.reminder', key) from (
       select id, opened_at, 'incident ' || id || ' reminder '
              || floor(extract(epoch from clock_timestamp() - opened_at) * 1000 / $1) as key
         from incident where state = 'open' and opened_at <= clock_timestamp() - $1 * interval '1 millisecond') due
      where not exists (select from event e where e.key = due.key) order by opened_at limit 1000`,
    [REMIND_AFTER_MS / speed],
  )
  await recordReports(pool)
  await pool.query(
    `update delivery set state = 'failed' where id in (
       select id from delivery where state = 'waiting' and recipient_id is not null
          and created_at < clock_timestamp() - interval '25 hours' limit 1000)`,
  )
}

/** Returns the last domain; undefined: none is left. */
async function evaluateBatch(
  client: Queryable,
  { plans, publicUrl, speed }: Pick<EvaluatorDeps, 'plans' | 'publicUrl' | 'speed'>,
  after: number,
): Promise<number | undefined> {
  const samples = await readSamples(client, plans, { after, limit: BATCH, speed })
  const changed: { id: number; watch: Watch; usual: Usual | null }[] = []
  for (const { facts, watch, open, read } of samples) {
    const step = advance(facts, watch, open, speed)
    for (const action of step.actions) await writeAction(client, facts, action, publicUrl)
    if (read === null && isDeepStrictEqual(step.watch, watch)) continue
    changed.push({ id: facts.domain.id, watch: step.watch, usual: read })
  }
  await client.query(
    `update health h set watch = n.watch, usual = coalesce(n.usual, h.usual),
            usual_at = case when n.usual is null then h.usual_at else clock_timestamp() end
       from json_to_recordset($1) n (id integer, watch jsonb, usual jsonb) where h.domain_id = n.id`,
    [JSON.stringify(changed)],
  )
  return samples.at(-1)?.facts.domain.id
}
