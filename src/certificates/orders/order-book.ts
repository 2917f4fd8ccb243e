import type pg from 'pg'

import { type Queryable, transaction } from '../../db/transaction.ts'
import type { AccountId, DomainId, DomainName } from '../../ids.ts'

/** A domain that this node is at: until the lease ends, no other node is. */
export type Errand = {
  domain: { id: DomainId; name: DomainName }
  account: AccountId
  /** The fence: results count only while it stands in the row. */
  lease: string
  failures: number
  /** The certificate that is there, when we ordered it. */
  current: { chain: string; notBeforeMs: number; notAfterMs: number; renewAtMs: number } | null
}

/**
 * Takes up to `limit` domains whose time has come and that nobody is at: those
 * that did not fail the last time, as thousands of names that lead elsewhere
 * must not hold up a new one or a renewal; then those of the account that had the fewest orders of late, as the budget
 * is everybody's; then the one that waited longest. A certificate of the owner's is left alone until
 * its end: `next_at` says so. A domain that is switched off gets no first one, but keeps what it has: its visitors
 * still pass through us.
 */
export async function takeErrands(
  db: Queryable,
  options: { lease: string; leaseMs: number; limit: number; nowMs: number },
): Promise<Errand[]> {
  const { rows } = await db.query<{
    id: DomainId
    custom_domain: DomainName
    account_id: AccountId
    failures: number
    renew_at: Date | null
    chain: string | null
    not_before: Date
    not_after: Date
  }>({
    name: 'take-errands',
    text: `with ranked as (
             select o.domain_id,
                    row_number() over (partition by d.account_id, o.failures > 0 order by o.next_at)
                      + coalesce(p.placed, 0) as turn
               from certificate_order o
               join domain d on d.id = o.domain_id
               left join (select account_id, count(*) as placed from acme_order
                           where ordered_at > $1::timestamptz - interval '1 hour' group by account_id) p
                 on p.account_id = d.account_id
              where o.next_at <= $1
                and (d.is_active or exists (select from certificate c where c.domain_id = d.id))
                and (o.lease_until is null or o.lease_until < clock_timestamp())),
           due as (
             select o.domain_id
               from certificate_order o
               join ranked r on r.domain_id = o.domain_id
              where o.next_at <= $1 and (o.lease_until is null or o.lease_until < clock_timestamp())
              order by o.failures > 0, r.turn, o.next_at
              limit $2
                for update of o skip locked),
           taken as (
             update certificate_order o
                set lease = $3, lease_until = clock_timestamp() + make_interval(secs => $4)
               from due where o.domain_id = due.domain_id
             returning o.*)
           select d.id, d.custom_domain, d.account_id, t.failures, t.renew_at, c.chain, c.not_before, c.not_after
             from taken t
             join domain d on d.id = t.domain_id
             left join certificate c on c.domain_id = t.domain_id and c.source = 'acme'`,
    values: [new Date(options.nowMs), options.limit, options.lease, options.leaseMs / 1_000],
  })
  return rows.map((row) => ({
    domain: { id: row.id, name: row.custom_domain },
    account: row.account_id,
    lease: options.lease,
    failures: row.failures,
    current:
      row.chain === null
        ? null
        : {
            chain: row.chain,
            notBeforeMs: row.not_before.getTime(),
            notAfterMs: row.not_after.getTime(),
            renewAtMs: row.renew_at?.getTime() ?? 0,
          },
  }))
}

/** Renews the lease; false: it is lost, and whatever comes of the errand is nobody's. */
export async function keepErrand(
  db: Queryable,
  { domain, lease }: Errand,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update certificate_order set lease_until = clock_timestamp() + make_interval(secs => $3)
      where domain_id = $1 and lease = $2`,
    [domain.id, lease, leaseMs / 1_000],
  )
  return rowCount === 1
}

/** Ends an errand without a certificate: to be looked at again at `nextAtMs`. Nothing happens when the lease is lost. */
export async function leaveErrand(
  db: Queryable,
  { domain, lease }: Errand,
  result:
    | { kind: 'failed'; nextAtMs: number; reason: string; nowMs: number }
    | { kind: 'later'; nextAtMs: number; renewAtMs?: number },
): Promise<void> {
  const failed = result.kind === 'failed'
  await db.query(
    `update certificate_order
        set next_at = $3, lease = null, lease_until = null,
            failures = case when $4 then failures + 1 else failures end,
            reason = case when $4 then $5 else reason end,
            failed_at = case when $4 then $6::timestamptz else failed_at end,
            renew_at = coalesce($7::timestamptz, renew_at)
      where domain_id = $1 and lease = $2`,
    [
      domain.id,
      lease,
      new Date(result.nextAtMs),
      failed,
      failed ? result.reason : null,
      failed ? new Date(result.nowMs) : null,
      result.kind === 'later' && result.renewAtMs !== undefined ? new Date(result.renewAtMs) : null,
    ],
  )
}

/** Runs `store` in a transaction in which the lease is known to be ours; false: it is lost, and nothing was done. */
export async function whileOurs(
  pool: pg.Pool,
  { domain, lease }: Errand,
  store: (client: Queryable) => Promise<void>,
): Promise<boolean> {
  return transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      'select from certificate_order where domain_id = $1 and lease = $2 for update',
      [domain.id, lease],
    )
    if (rowCount !== 1) return false
    await store(client)
    return true
  })
}

/** (7228, 0): one count of the fleet's orders at a time. */
const BUDGET_LOCK = 7_228
const HOUR_MS = 3_600_000

/** Takes one order of what the fleet may place in an hour; else gives when the next one may be. */
export async function takeBudget(
  pool: pg.Pool,
  { perHour, account, nowMs }: { perHour: number; account: AccountId; nowMs: number },
): Promise<{ taken: true } | { taken: false; nextAtMs: number }> {
  return transaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1, 0)', [BUDGET_LOCK])
    const since = new Date(nowMs - HOUR_MS)
    await client.query('delete from acme_order where ordered_at <= $1', [since])
    const { rows } = await client.query<{ placed: number; oldest: Date | null }>(
      'select count(*)::int as placed, min(ordered_at) as oldest from acme_order',
    )
    const { placed = 0, oldest = null } = rows[0] ?? {}
    if (placed >= perHour) return { taken: false, nextAtMs: (oldest?.getTime() ?? nowMs) + HOUR_MS + 1_000 }
    await client.query('insert into acme_order (ordered_at, account_id) values ($1, $2)', [
      new Date(nowMs),
      account,
    ])
    return { taken: true }
  })
}
