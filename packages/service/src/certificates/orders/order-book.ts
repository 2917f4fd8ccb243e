import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { Rate } from '@prepaint/postgres/rates'
import { lockLease, type NextRun, type Task } from '@prepaint/postgres/tasks'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { IS_SERVED } from '../../sites/proof/stored-proof.ts'
import type { FailureKind } from './back-off.ts'

/** The kind of the task of a domain's order; its key is the id of the domain. */
export const ORDER_TASK = 'certificate-order'

/**
 * Nodes of 0.2.0 claim orders by `certificate_order.lease`. While a task runs, this lease is there, the same for all nodes
 * with tasks: which of them works on the order is a matter of the task. Goes in the release after 0.3.0.
 */
const LEASE_AGAINST_OLDER_NODES = '00000000-0000-0000-0000-000000000000'
/** Longer than an order and storing its certificate take. Past it, a node of 0.2.0 may begin, and nothing is stored here. */
const AGAINST_OLDER_NODES_MINUTES = 15
/** Between two readings of the clock. */
const SAME_TIME_MS = 5_000

/** A domain that one node works on until the lease of the task ends. */
export type OrderTask = {
  /** Results are stored only while the node has its lease. */
  task: Task
  domain: { id: DomainId; name: DomainName }
  account: AccountId
  failures: number
  /** The kind of the last failure. */
  failure: FailureKind | null
  current: { chain: string; notBeforeMs: number; notAfterMs: number; renewAtMs: number } | null
}

/** An inactive domain gets renewals only: its visitors still use the edge. One that is not served gets nothing. */
const IS_WANTED = `(d.is_active or exists (select from certificate c where c.domain_id = d.id)) and ${IS_SERVED}`

/** The tasks that should exist: `TaskKind.subjects`. */
export const ORDER_SUBJECTS = `
  select o.domain_id as key, d.account_id, o.next_at as due_at
    from certificate_order o join domain d on d.id = o.domain_id where ${IS_WANTED}`

/** The orders of the last hour: accounts with the fewest come first. */
export const RECENT_ORDERS = `
  select account_id, count(*)::integer as count from acme_order
   where ordered_at > clock_timestamp() - interval '1 hour' and account_id is not null group by account_id`

/** The first certificate of a new domain is due at once. Call in the transaction that creates the domain. */
export async function expectCertificate(client: Queryable, domain: DomainId): Promise<void> {
  await client.query(
    'insert into certificate_order (domain_id) values ($1) on conflict (domain_id) do nothing',
    [domain],
  )
}

/**
 * Asks for the tasks of orders that have none, and again for those that are due earlier than their task. `names`: of these
 * domains; null: of all.
 */
export async function askForOrders(
  db: Queryable,
  { names, nowMs }: { names: readonly string[] | null; nowMs: number },
): Promise<void> {
  const values = [ORDER_TASK, new Date(nowMs), names]
  // The task of an order that failed keeps its back-off when it is asked for. The owner or another CA made it due.
  await db.query(
    `select drop_task(t.kind, t.key)
       from certificate_order o
       join domain d on d.id = o.domain_id
       join task t on t.kind = $1 and t.key = o.domain_id::text
      where t.lease is null and t.due_at > clock_timestamp() + (o.next_at - $2::timestamptz) + $4 * interval '1 millisecond'
        and ($3::text[] is null or d.custom_domain = any ($3))`,
    [...values, SAME_TIME_MS],
  )
  await db.query(
    `select ask_task($1, o.domain_id::text, d.account_id, clock_timestamp() + (o.next_at - $2::timestamptz))
       from certificate_order o
       join domain d on d.id = o.domain_id
      where not exists (select from task t where t.kind = $1 and t.key = o.domain_id::text)
        and ($3::text[] is null or d.custom_domain = any ($3)) and ${IS_WANTED}`,
    values,
  )
}

/**
 * Begins the order of a task, so that nodes of 0.2.0 leave it alone. Returns null if it is not due, if a node of 0.2.0 works
 * on it, or if there is nothing to order.
 */
export async function beginOrder(db: Queryable, task: Task, nowMs: number): Promise<OrderTask | null> {
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
    name: 'begin-order',
    text: `with taken as (
             update certificate_order o
                set lease = $3, lease_until = clock_timestamp() + make_interval(mins => $4)
               from domain d
              where o.domain_id = $1 and d.id = o.domain_id and o.next_at <= $2 and ${IS_WANTED}
                and (o.lease_until is null or o.lease_until < clock_timestamp() or o.lease = $3)
             returning o.*)
           select d.id, d.custom_domain, d.account_id, t.failures, t.failure, t.renew_at, c.chain, c.not_before, c.not_after
             from taken t
             join domain d on d.id = t.domain_id
             left join certificate c on c.domain_id = t.domain_id and c.source = 'acme'`,
    values: [Number(task.key), new Date(nowMs), LEASE_AGAINST_OLDER_NODES, AGAINST_OLDER_NODES_MINUTES],
  })
  const [row] = rows
  if (row === undefined) return null
  let current: OrderTask['current'] = null
  if (row.chain !== null) {
    current = {
      chain: row.chain,
      notBeforeMs: row.not_before.getTime(),
      notAfterMs: row.not_after.getTime(),
      renewAtMs: row.renew_at?.getTime() ?? 0,
    }
  }
  return {
    task,
    domain: { id: row.id, name: row.custom_domain },
    account: row.account_id,
    failures: row.failures,
    failure: row.failure,
    current,
  }
}

/** When a task runs next: when its order is due, or when the lease of a node of 0.2.0 ends. Returns null if nothing is to do. */
export async function readNextRun(db: Queryable, task: Task, nowMs: number): Promise<NextRun | null> {
  const { rows } = await db.query<NextRun>({
    name: 'next-run-of-order',
    text: `select o.failures, 1000 * extract(epoch from greatest(
                    interval '0', o.next_at - $2::timestamptz,
                    case when o.lease <> $3 then o.lease_until - clock_timestamp() end))::float8 as "againMs"
             from certificate_order o join domain d on d.id = o.domain_id
            where o.domain_id = $1 and ${IS_WANTED}`,
    values: [Number(task.key), new Date(nowMs), LEASE_AGAINST_OLDER_NODES],
  })
  return rows[0] ?? null
}

/** Ends an order without a certificate, until `nextAtMs`. No effect after losing the lease. */
export async function endOrder(
  pool: pg.Pool,
  order: OrderTask,
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
  await withLease(pool, order, async (client) => {
    await client.query(
      `update certificate_order
          set next_at = $2, lease = null, lease_until = null,
              failures = coalesce($8, failures),
              reason = case when $3 then $4 else reason end,
              failure = case when $3 then $7 else failure end,
              failed_at = case when $3 then $5::timestamptz else failed_at end,
              renew_at = coalesce($6::timestamptz, renew_at)
        where domain_id = $1`,
      [
        order.domain.id,
        new Date(result.nextAtMs),
        failed,
        failed ? result.reason : null,
        failed ? new Date(result.nowMs) : null,
        result.kind === 'later' && result.renewAtMs !== undefined ? new Date(result.renewAtMs) : null,
        failed ? result.failure : null,
        failed ? result.failures : null,
      ],
    )
  })
}

/**
 * Runs `store` in a transaction with the lease of the task locked. Returns false if another node has the order, or if it was
 * begun anew, because the owner supplied or removed a certificate: then nothing was done.
 */
export async function withLease(
  pool: pg.Pool,
  { task, domain }: Pick<OrderTask, 'task' | 'domain'>,
  store: (client: Queryable) => Promise<void>,
): Promise<boolean> {
  return transaction(pool, async (client) => {
    // The order's row first, as everybody who changes an order does, to avoid deadlocks.
    const { rowCount } = await client.query(
      'select from certificate_order where domain_id = $1 and lease = $2 for update',
      [domain.id, LEASE_AGAINST_OLDER_NODES],
    )
    if (rowCount !== 1) return false
    if (!(await lockLease(client, task))) return false
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
    // Accounts with the fewest recent orders come first: `RECENT_ORDERS`.
    await client.query('delete from acme_order where ordered_at <= $1', [new Date(nowMs - HOUR_MS)])
    await client.query('insert into acme_order (ordered_at, account_id) values ($1, $2)', [
      new Date(nowMs),
      account,
    ])
    return { taken: true }
  })
}
