import { type DomainOfMonth, monthAfter, monthOf } from '@prepaint/contract/api/reports.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { runEach, type TaskKind } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { readMonth, summaryOf } from '../../insight/reports/monthly-report.ts'
import { MONTHLY_REPORT } from './addresses.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** After the beginning of the month. */
const SENT_AFTER_MS = 6 * HOUR_MS
/** Later than this, a report that no node could send is not sent any more. */
const SENT_UNTIL_MS = 3 * DAY_MS
const LETTERS_AT_ONCE = 50
/** Further sites are only counted. */
const MOST_DOMAINS = 20
const MOST_NAMES_IN_LINK = 10
const PAUSE_MS = 100

/** What the letter of a month tells; it is the body of an event. */
export type MonthInLetter = {
  month: string
  summary: string
  domains: (Pick<DomainOfMonth, 'domain' | 'visits' | 'before' | 'hit_ratio' | 'failed' | 'response_ms'> & {
    incidents: number
  })[]
  /** How many sites are left out. */
  others: number
  /** The names of the domains that the address is limited to; null: all, or too many for a link. */
  limited: string[] | null
}

/**
 * Records the reports that are sent by e-mail on the 1st of a month: an event for each address, whose key makes it one over all
 * nodes and after crashes. One task for the fleet.
 */
export class MonthlyLetters implements TaskKind {
  readonly name = 'monthly-letters'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'monthly reports could not be sent; trying again'
  readonly subjects = `select 'all' as key, 0 as account_id, now() as due_at`
  readonly #pool: pg.Pool
  readonly #clock: Clock

  constructor(pool: pg.Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  async run(_task: unknown, signal: AbortSignal): Promise<number> {
    const nowMs = this.#clock.nowMs()
    const recorded = await recordMonthlyLetters(this.#pool, nowMs, signal)
    if (recorded === LETTERS_AT_ONCE) return PAUSE_MS
    // Addresses that are confirmed on that day still get it.
    const sentAtMs = Date.parse(`${monthAfter(monthOf(nowMs), 1)}-01`) + SENT_AFTER_MS
    const thisMonthMs = Date.parse(`${monthOf(nowMs)}-01`) + SENT_AFTER_MS
    const nextMs = nowMs < thisMonthMs ? thisMonthMs : sentAtMs
    return Math.min(nextMs - nowMs, HOUR_MS)
  }
}

/** Records at most 50 letters. Returns how many. Throws as `runEach`. */
export async function recordMonthlyLetters(
  pool: pg.Pool,
  nowMs: number,
  signal?: AbortSignal,
): Promise<number> {
  const running = monthOf(nowMs)
  const intoMonthMs = nowMs - Date.parse(`${running}-01`)
  if (intoMonthMs < SENT_AFTER_MS || intoMonthMs >= SENT_UNTIL_MS) return 0
  const month = monthAfter(running, -1)
  // An account that is younger has no report of that month yet.
  const { rows } = await pool.query<{ account: AccountId; channel: number; domains: DomainId[] | null }>(
    `select c.account_id as account, c.id as channel, c.domains
       from channel c join account a on a.id = c.account_id
      where c.format = 'mail' and c.state = 'confirmed' and '${MONTHLY_REPORT}' = any (c.events)
        and a.suspended_at is null and a.created_at < $1::date::timestamp at time zone 'UTC'
        and exists (select from domain d where d.account_id = a.id and (c.domains is null or d.id = any (c.domains)))
        and not exists (select from event e where e.key = 'month ' || $2 || ' to ' || c.id)
      order by c.account_id, c.id limit $3`,
    [`${running}-01`, month, LETTERS_AT_ONCE],
  )
  await runEach(rows, signal, async ({ account, channel, domains }) => {
    const read = await readMonth(pool, { account, domains }, month, nowMs)
    const names =
      domains === null || read.length > MOST_NAMES_IN_LINK ? null : read.map(({ domain }) => domain)
    const report: MonthInLetter = {
      month,
      summary: summaryOf(month, read, nowMs),
      domains: read
        .slice(0, MOST_DOMAINS)
        .map(({ domain, visits, before, hit_ratio, failed, response_ms, incidents, left_out }) => ({
          domain,
          visits,
          before,
          hit_ratio,
          failed,
          response_ms,
          incidents: incidents.length + left_out.incidents,
        })),
      others: Math.max(0, read.length - MOST_DOMAINS),
      limited: names,
    }
    await pool.query(`select record_event($1, null, null, '${MONTHLY_REPORT}', $2, $3, $4)`, [
      account,
      `month ${month} to ${channel}`,
      { month: report },
      channel,
    ])
  })
  return rows.length
}
