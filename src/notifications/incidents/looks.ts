import type pg from 'pg'
import type { AccountId, DomainId, DomainName } from '../../ids.ts'
import type { DnsState } from '../../sites/reachability/dns-state.ts'
import type { TriedOrigin } from '../../sites/reachability/try-origin.ts'

export type LookDeps = {
  pool: pg.Pool
  tryOrigin(url: string): Promise<TriedOrigin>
  readDns(account: AccountId, name: DomainName): Promise<DnsState | null>
}

const AT_ONCE = 16
const ORIGIN_EVERY_MS = 60_000
/** A name that was just lost is looked at again after three minutes. */
const DNS_EVERY_MS = 5 * 60_000
const DNS_AGAIN_MS = 3 * 60_000

/** Requests `/` of origins that seem to be away, so that their incidents end without traffic. */
export async function lookAtOrigins({ pool, tryOrigin }: LookDeps, speed: number): Promise<void> {
  const condition = `h.watch ? 'origin_unreachable'
       and (h.watch -> 'origin_unreachable' ? 'heldMs'
            or exists (select from incident i where i.domain_id = h.domain_id and i.state = 'open'
                        and i.kind = 'origin_unreachable'))
       and h.origin_checked_at <= clock_timestamp() - $1 * interval '1 millisecond'`
  await lookAtDue(pool, 'origin_checked_at', condition, [ORIGIN_EVERY_MS / speed], async (domain) => {
    const { status } = await tryOrigin(domain.origin_url)
    const column = status === null ? 'origin_bad_at' : 'origin_good_at'
    await pool.query(`update health set ${column} = clock_timestamp() where domain_id = $1`, [domain.id])
  })
}

/** Whether names lead here, of domains that had a visitor. A look without an answer changes nothing. */
export async function lookAtNames({ pool, readDns }: LookDeps, speed: number): Promise<void> {
  const condition = `h.live_at is not null
       and h.dns_checked_at <= clock_timestamp()
           - case when h.lost_at is null then $1::float8 else $2 end * interval '1 millisecond'`
  const times = [DNS_EVERY_MS / speed, DNS_AGAIN_MS / speed]
  await lookAtDue(pool, 'dns_checked_at', condition, times, async ({ id, account_id, custom_domain }) => {
    const found = await readDns(account_id, custom_domain)
    if (found === null || found.state === 'not-checked') return
    await noteDns(pool, id, found.state, speed)
  })
}

export async function noteDns(
  pool: pg.Pool,
  domain: DomainId,
  state: Exclude<DnsState['state'], 'not-checked'>,
  speed: number,
): Promise<void> {
  await pool.query(
    `update health set dns_state = $2, led_here_at = case when $3 then clock_timestamp() else led_here_at end,
            lost_again_at = case when not $3 and lost_at <= clock_timestamp() - $4 * interval '1 millisecond'
                                 then clock_timestamp() end,
            lost_at = case when not $3 and led_here_at is not null then coalesce(lost_at, clock_timestamp()) end
      where domain_id = $1`,
    [domain, state, state === 'reaches-us', DNS_AGAIN_MS / speed],
  )
}

type Due = { id: DomainId; account_id: AccountId; custom_domain: DomainName; origin_url: string }

/** Notes the time in `column`, so that each is looked at once in the fleet. Names and condition are constants. */
async function lookAtDue(
  pool: pg.Pool,
  column: string,
  condition: string,
  values: number[],
  look: (domain: Due) => Promise<void>,
): Promise<void> {
  const { rows: due } = await pool.query<Due>(
    `with due as (
       select h.domain_id from health h join domain d on d.id = h.domain_id join account a on a.id = d.account_id
        where d.is_active and a.suspended_at is null and ${condition}
        order by h.${column} limit 1000 for update of h skip locked)
     update health h set ${column} = clock_timestamp() from due, domain d
      where h.domain_id = due.domain_id and d.id = h.domain_id
     returning d.id, d.account_id, d.custom_domain, d.origin_url`,
    values,
  )
  const work = async () => {
    for (let one = due.shift(); one !== undefined; one = due.shift()) await look(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}
