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

type Due = { id: DomainId; account_id: AccountId; custom_domain: DomainName; origin_url: string }

/** Requests `/` of origins that seem to be away, so that their incidents end without traffic. */
export async function lookAtOrigins({ pool, tryOrigin }: LookDeps, speed: number): Promise<void> {
  const { rows } = await pool.query<Due>(
    `with due as (
       select h.domain_id from health h join domain d on d.id = h.domain_id
        where h.watch ? 'origin_unreachable' and d.is_active
          and (h.watch -> 'origin_unreachable' ? 'heldMs'
               or exists (select from incident i where i.domain_id = h.domain_id and i.state = 'open'
                           and i.kind = 'origin_unreachable'))
          and h.origin_checked_at <= clock_timestamp() - $1 * interval '1 millisecond'
        order by h.origin_checked_at limit 500 for update of h skip locked)
     update health h set origin_checked_at = clock_timestamp() from due, domain d
      where h.domain_id = due.domain_id and d.id = h.domain_id
     returning d.id, d.account_id, d.custom_domain, d.origin_url`,
    [ORIGIN_EVERY_MS / speed],
  )
  await eachOf(rows, async ({ id, origin_url }) => {
    const { status } = await tryOrigin(origin_url)
    await pool.query(
      `update health set origin_good_at = case when $2 then clock_timestamp() else origin_good_at end,
              origin_bad_at = case when $2 then origin_bad_at else clock_timestamp() end where domain_id = $1`,
      [id, status !== null],
    )
  })
}

/** Whether names lead here, of domains that had a visitor. A look without an answer changes nothing. */
export async function lookAtNames({ pool, readDns }: LookDeps, speed: number): Promise<void> {
  const { rows } = await pool.query<Due>(
    `with due as (
       select h.domain_id from health h join domain d on d.id = h.domain_id join account a on a.id = d.account_id
        where h.live_at is not null and d.is_active and a.suspended_at is null
          and h.dns_checked_at <= clock_timestamp()
              - case when h.lost_at is null then $1::float8 else $2 end * interval '1 millisecond'
        order by h.dns_checked_at limit 2000 for update of h skip locked)
     update health h set dns_checked_at = clock_timestamp() from due, domain d
      where h.domain_id = due.domain_id and d.id = h.domain_id
     returning d.id, d.account_id, d.custom_domain, d.origin_url`,
    [DNS_EVERY_MS / speed, DNS_AGAIN_MS / speed],
  )
  await eachOf(rows, async ({ id, account_id, custom_domain }) => {
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
    `update health set dns_state = $2,
            led_here_at = case when $3 then clock_timestamp() else led_here_at end,
            lost_again_at = case when $3 then null
                                 when lost_at <= clock_timestamp() - $4 * interval '1 millisecond' then clock_timestamp()
                                 else lost_again_at end,
            lost_at = case when $3 then null when led_here_at is not null then coalesce(lost_at, clock_timestamp()) end
      where domain_id = $1`,
    [domain, state, state === 'reaches-us', DNS_AGAIN_MS / speed],
  )
}

async function eachOf(due: readonly Due[], look: (one: Due) => Promise<void>): Promise<void> {
  const left = [...due]
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await look(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}
