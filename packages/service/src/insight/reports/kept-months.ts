import { monthAfter, REPORT_MONTHS } from '@prepaint/contract/api/reports.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { deleteInSteps, type Steps } from '@prepaint/postgres/remove-old.ts'
import { runEach, type TaskKind } from '@prepaint/postgres/tasks'
import { transaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { DAYS_KEPT } from '../traffic/retention.ts'
import { countMonth, isEmpty } from './monthly-report.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/**
 * A month is kept a week after its end: until then late counts and the ends of incidents still change it. Events, of which
 * deploys are read, are kept longer than this month and week.
 */
const KEPT_AFTER_MS = 7 * DAY_MS
const MONTHS_AT_ONCE = 20
const DOMAINS_AT_ONCE = 100
const PAUSE_MS = 1_000

/** Keeps what reports tell of whole months, before the counts of days expire: one task for the fleet, a month of an account after another. */
export class KeptMonths implements TaskKind {
  readonly name = 'kept-months'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'months could not be kept for reports; trying again'
  readonly subjects = `select 'all' as key, 0 as account_id, now() as due_at`
  readonly #pool: pg.Pool
  readonly #clock: Clock

  constructor(pool: pg.Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  async run(_task: unknown, signal: AbortSignal): Promise<number> {
    const kept = await keepMonths(this.#pool, this.#clock.nowMs(), signal)
    return kept === MONTHS_AT_ONCE ? PAUSE_MS : HOUR_MS
  }
}

/** Keeps at most 20 months of accounts, the newest first. Returns how many. Throws as `runEach`. */
export async function keepMonths(pool: pg.Pool, nowMs: number, signal?: AbortSignal): Promise<number> {
  const { rows } = await pool.query<{ account: AccountId; month: string }>(
    `select a.id as account, to_char(m.month, 'YYYY-MM') as month
       from account a cross join generate_series($1::timestamp, $2::timestamp, interval '1 month') m (month)
      where m.month >= date_trunc('month', a.created_at at time zone 'UTC')
        and not exists (select from account_month k where k.account_id = a.id and k.month = m.month::date)
      order by m.month desc, a.id limit $3`,
    [...endsOf(nowMs), MONTHS_AT_ONCE],
  )
  await runEach(rows, signal, ({ account, month }) => keepMonth(pool, account, month, nowMs))
  return rows.length
}

/** The first month of which all days are still there, and the last that is over for long enough. */
function endsOf(nowMs: number): [first: string, last: string] {
  const over = new Date(nowMs - KEPT_AFTER_MS).toISOString().slice(0, 7)
  const oldest = new Date(nowMs - DAYS_KEPT * DAY_MS).toISOString().slice(0, 7)
  return [`${monthAfter(oldest, 1)}-01`, `${monthAfter(over, -1)}-01`]
}

/** In one transaction, so that a node that dies leaves nothing half. What was kept stays as it was. */
async function keepMonth(pool: pg.Pool, account: AccountId, month: string, nowMs: number): Promise<void> {
  await transaction(pool, async (client) => {
    const { rows } = await client.query<{ id: DomainId }>(
      'select id from domain where account_id = $1 order by id',
      [account],
    )
    for (let at = 0; at < rows.length; at += DOMAINS_AT_ONCE) {
      const domains = rows.slice(at, at + DOMAINS_AT_ONCE).map(({ id }) => id)
      const counted = await countMonth(client, { account, domains }, month, nowMs)
      const told = [...counted].filter(([, figures]) => !isEmpty(figures))
      await client.query(
        `insert into domain_month (domain_id, month, figures)
         select n.id, $1, n.figures from unnest($2::integer[], $3::jsonb[]) n (id, figures)
          where exists (select from domain where id = n.id and account_id = $4)
         on conflict (domain_id, month) do nothing`,
        [
          `${month}-01`, // $1
          told.map(([id]) => id), // $2
          told.map(([, figures]) => JSON.stringify(figures)), // $3
          account, // $4
        ],
      )
    }
    await client.query(
      `insert into account_month (account_id, month) select id, $2 from account where id = $1 on conflict do nothing`,
      [account, `${month}-01`],
    )
  })
}

/** SQL: deletes months that no report shows any more. The names are constants. */
const oldOf = (table: string, owner: string) => `
  with old as materialized (
    select ${owner}, month from ${table}
     where month < (date_trunc('month', now() at time zone 'UTC') - make_interval(months => $2))::date
     limit $1 for update skip locked)
  delete from ${table} t using old where t.${owner} = old.${owner} and t.month = old.month`

export async function removeOldMonths(pool: pg.Pool, steps?: Steps): Promise<number> {
  const domains = await deleteInSteps(pool, oldOf('domain_month', 'domain_id'), [REPORT_MONTHS], steps)
  return domains + (await deleteInSteps(pool, oldOf('account_month', 'account_id'), [REPORT_MONTHS], steps))
}
