import { isDeepStrictEqual } from 'node:util'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import type { Probes } from '../../sites/reachability/checks.ts'
import { noteDns } from '../../sites/reachability/dns-looks.ts'
import { recordReports } from '../delivery/report.ts'
import { type Facts, readSamples, type Site, type Usual } from './facts.ts'
import { writeAction } from './incidents.ts'
import { advance, type Watch } from './watch.ts'

const EVERY_MS = 60_000
const LEAST_PAUSE_MS = 20
const BATCH = 200
const REMIND_AFTER_MS = 24 * 3_600_000

export type EvaluationOptions = {
  plans: PlanCatalogue
  /** Links to the dashboard begin with it. They are relative if it is null. */
  publicUrl: string | null
  /** Divides the times of docs/notifications.md. */
  speed: number
}

/**
 * Evaluates all domains once a minute: one task for the fleet. A node of version 0.2.0 evaluates beside: the rules go by
 * times, so it makes no difference how often they are applied.
 */
export class Evaluation implements TaskKind {
  readonly name = 'evaluation'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'domains could not be evaluated; trying again'
  readonly subjects = `select 'all' as key, 0 as account_id, now() as due_at`
  readonly #pool: pg.Pool
  readonly #probes: Probes
  readonly #log: Log
  readonly #options: EvaluationOptions
  readonly #everyMs: number
  readonly #closing = new AbortController()
  #looking: Promise<unknown> | null = null

  constructor(pool: pg.Pool, probes: Probes, log: Log, options: EvaluationOptions) {
    this.#pool = pool
    this.#probes = probes
    this.#log = log
    this.#options = options
    this.#everyMs = Math.max(LEAST_PAUSE_MS, EVERY_MS / options.speed)
  }

  async run(_task: Task, signal: AbortSignal): Promise<number> {
    const startedSeconds = systemStopwatch()
    const looks = await evaluate(this.#pool, this.#options, signal)
    // Not awaited: sites that do not answer must not delay the next round.
    if (!signal.aborted) this.#looking ??= this.#look(looks)
    const tookMs = (systemStopwatch() - startedSeconds) * 1_000
    return Math.max(LEAST_PAUSE_MS, this.#everyMs - tookMs)
  }

  retryMs(): number {
    return this.#everyMs
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#looking
  }

  async #look(looks: readonly Look[]): Promise<void> {
    try {
      await lookAtSites(this.#pool, this.#probes, looks, this.#options.speed, this.#closing.signal)
    } catch (error) {
      this.#log.warn({ err: error }, 'origins and names could not be looked at')
    }
    this.#looking = null
  }
}

/** One round over all domains, in short transactions. Returns the sites that are due to be looked at. */
export async function evaluate(
  pool: pg.Pool,
  options: EvaluationOptions,
  signal?: AbortSignal,
): Promise<Look[]> {
  const looks: Look[] = []
  let after: number | null = 0
  while (after !== null && signal?.aborted !== true) {
    const from: number = after
    const batch: Batch = await retriedTransaction(pool, (client) => evaluateBatch(client, options, from))
    looks.push(...batch.looks)
    after = batch.last
  }
  await pool.query(
    `select stop_following(d.id) from domain d join account a on a.id = d.account_id join health h on h.domain_id = d.id
      where (not d.is_active or a.suspended_at is not null)
        and (jsonb_path_exists(h.watch, '$.*.heldMs')
             or exists (select from incident i where i.domain_id = d.id and i.state = 'open')) order by d.id`,
  )
  await pool.query(
    `select record_incident(id, 'mail.reminder', key) from (
       select id, opened_at, 'incident ' || id || ' reminder '
              || floor(extract(epoch from clock_timestamp() - opened_at) * 1000 / $1) as key
         from incident i where state = 'open' and opened_at <= clock_timestamp() - $1 * interval '1 millisecond'
          and not exists (select from incident_acknowledged a where a.incident_id = i.id)) due
      where not exists (select from event e where e.key = due.key) order by opened_at limit 1000`,
    [REMIND_AFTER_MS / options.speed],
  )
  await recordReports(pool)
  await pool.query(
    `update delivery set state = 'failed' where id in (
       select id from delivery where state = 'waiting' and channel_id in (select id from channel where format = 'mail')
          and created_at < clock_timestamp() - interval '25 hours' limit 1000)`,
  )
  return looks
}

/** `last`: the last domain of the batch, or null if none is left. */
type Batch = { looks: Look[]; last: number | null }

async function evaluateBatch(
  client: Queryable,
  { plans, publicUrl, speed }: EvaluationOptions,
  after: number,
): Promise<Batch> {
  const looks: Look[] = []
  const samples = await readSamples(client, plans, { after, limit: BATCH, speed })
  const changed: { id: number; watch: Watch; usual: Usual | null }[] = []
  for (const { facts, site, watch, open, read } of samples) {
    const { nowMs, domain, dns } = facts
    const step = advance(facts, watch, open, speed)
    for (const action of step.actions) await writeAction(client, facts, action, publicUrl)
    const isAway = open.some(({ kind }) => kind === 'origin_unreachable')
    // So that its incident ends without traffic.
    if (isAway || step.watch.origin_unreachable?.heldMs !== undefined) {
      looks.push({ ...site, ...domain, what: 'origin', checkedMs: 0 })
    }
    const nameMs = (dns.lostMs === null ? NAME_EVERY_MS : NAME_AGAIN_MS) / speed
    if (site.nameCheckedMs !== null && nowMs - site.nameCheckedMs >= nameMs) {
      looks.push({ ...site, ...domain, what: 'name', checkedMs: site.nameCheckedMs })
    }
    if (read === null && isDeepStrictEqual(step.watch, watch)) continue
    changed.push({ id: domain.id, watch: step.watch, usual: read })
  }
  await client.query(
    `update health h set watch = n.watch, usual = coalesce(n.usual, h.usual),
            usual_at = case when n.usual is null then h.usual_at else clock_timestamp() end
       from json_to_recordset($1) n (id integer, watch jsonb, usual jsonb) where h.domain_id = n.id`,
    [JSON.stringify(changed)],
  )
  return { looks, last: samples.at(-1)?.facts.domain.id ?? null }
}

/** `checkedMs`: the earliest are looked at first. */
type Look = Site & Facts['domain'] & { what: 'origin' | 'name'; checkedMs: number }

const AT_ONCE = 16
/** Looks of a round. The others are due again at the next. */
const MOST = 1_000
const NAME_EVERY_MS = 5 * 60_000
/** A name that was just lost is looked at again after three minutes. */
const NAME_AGAIN_MS = 3 * 60_000

const NOTE_NAME = `
  update health set dns_state = $2, led_here_at = case when $3 then clock_timestamp() else led_here_at end,
         lost_again_at = case when not $3 and lost_at <= clock_timestamp() - $4 * interval '1 millisecond'
                              then clock_timestamp() end,
         lost_at = case when not $3 and led_here_at is not null then coalesce(lost_at, clock_timestamp()) end
   where domain_id = $1`

/** Requests `/` of origins, and reads whether names lead here. A look at a name without an answer changes nothing. */
export async function lookAtSites(
  pool: pg.Pool,
  probes: Probes,
  looks: readonly Look[],
  speed: number,
  signal?: AbortSignal,
): Promise<void> {
  const due = looks.toSorted((a, b) => a.checkedMs - b.checkedMs).slice(0, MOST)
  const work = async () => {
    for (let look = due.shift(); look !== undefined && signal?.aborted !== true; look = due.shift()) {
      const { id, what, account, name, originUrl } = look
      if (what === 'origin') {
        const column =
          (await probes.tryOrigin(originUrl)).status === null ? 'origin_bad_at' : 'origin_good_at'
        await pool.query(`update health set ${column} = clock_timestamp() where domain_id = $1`, [id])
      } else {
        await pool.query('update health set dns_checked_at = clock_timestamp() where domain_id = $1', [id])
        const found = await probes.checkDns(account, name)
        if (found !== null) await noteDns(pool, id, found)
        const state = found?.state ?? 'not-checked'
        if (state !== 'not-checked') {
          await pool.query(NOTE_NAME, [id, state, state === 'reaches-us', NAME_AGAIN_MS / speed])
        }
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}
