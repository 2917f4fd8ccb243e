import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { Rate } from '@prepaint/postgres/rates'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { FailureKind } from './back-off.ts'

/** A domain that one node works on until the lease ends. */
export type OrderTask = {
  domain: { id: DomainId; name: DomainName }
  account: AccountId
  /** Results are stored only while the row has this lease. */
  lease: string
  failures: number
  /** The kind of the last failure. */
  failure: FailureKind | null
  current: { chain: string; notBeforeMs: number; notAfterMs: number; renewAtMs: number } | null
}

/** The first certificate of a new domain is due at once. Call in the transaction that creates the domain. */
export async function expectCertificate(client: Queryable, domain: DomainId): Promise<void> {
  await client.query(
    'insert into certificate_order (domain_id) values ($1) on conflict (domain_id) do nothing',
    [domain],
  )
}

/**
 * Takes up to `limit` due domains: previously failed ones last, then accounts with the fewest recent orders first,
 * then the longest waiting. Own certificates are kept until they end (`next_at`).
 * An inactive domain gets renewals only: its visitors still use the edge.
 */
export async function takeOrderTasks(
  db: Queryable,
  options: { lease: string; leaseMs: number; limit: number; nowMs: number },
): Promise<OrderTask[]> {
  const { rows } = await db.query<{
    id: DomainId
    custom_domain: DomainName
    account_id: AccountId
    failures: number
    failure: FailureKind | null
    renew_at: Date | null
    chain: string | null
    not_before: Date
    not_after: Date
  }>({
    name: 'take-order-tasks',
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
           select d.id, d.custom_domain, d.account_id, t.failures, t.failure, t.renew_at, c.chain, c.not_before, c.not_after
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
    failure: row.failure,
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

export async function renewLease(
  db: Queryable,
  { domain, lease }: OrderTask,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update certificate_order set lease_until = clock_timestamp() + make_interval(secs => $3)
      where domain_id = $1 and lease = $2`,
    [domain.id, lease, leaseMs / 1_000],
  )
  return rowCount === 1
}

/** Ends a task without a certificate, until `nextAtMs`. No effect after losing the lease. */
export async function endOrderTask(
  db: Queryable,
  { domain, lease }: OrderTask,
  result:
    | {
        kind: 'failed'
        nextAtMs: number
        failures: number
        failure: FailureKind
        reason: string
        nowMs: number
      }
    | { kind: 'later'; nextAtMs: number; renewAtMs?: number },
): Promise<void> {
  const failed = result.kind === 'failed'
  await db.query(
    `update certificate_order
        set next_at = $3, lease = null, lease_until = null,
            failures = coalesce($9, failures),
            reason = case when $4 then $5 else reason end,
            failure = case when $4 then $8 else failure end,
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
      failed ? result.failure : null,
      failed ? result.failures : null,
    ],
  )
}

/** Runs `store` in a transaction with the lease locked. False: the lease is lost, and nothing was done. */
export async function withLease(
  pool: pg.Pool,
  { domain, lease }: OrderTask,
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

const HOUR_MS = 3_600_000
/** The next order of a refused domain is tried a second after the budget allows it. */
const AFTER_BUDGET_MS = 1_000

/** Takes one order of the fleet's hourly budget, or returns when the next one is possible. */
export async function takeBudget(
  pool: pg.Pool,
  { perHour, account, nowMs }: { perHour: number; account: AccountId; nowMs: number },
): Promise<{ taken: true } | { taken: false; nextAtMs: number }> {
  const budget = new Rate({ what: 'certificate order', most: perHour, withinMs: HOUR_MS, window: 'sliding' })
  return transaction(pool, async (client) => {
    const refusal = await budget.take(client, 'fleet', { nowMs })
    if (refusal !== null) return { taken: false, nextAtMs: nowMs + refusal.waitMs + AFTER_BUDGET_MS }
    // Accounts with the fewest recent orders come first: see `takeOrderTasks`.
    await client.query('delete from acme_order where ordered_at <= $1', [new Date(nowMs - HOUR_MS)])
    await client.query('insert into acme_order (ordered_at, account_id) values ($1, $2)', [
      new Date(nowMs),
      account,
    ])
    return { taken: true }
  })
}
