import type pg from 'pg'
import { takeOfRate } from '../../db/account-rate.ts'
import { removeOld, type Steps } from '../../db/remove-old.ts'
import { type Queryable, transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'

/** Wakes the nodes that send. */
export const DELIVERY_CHANNEL = 'delivery'

const KEPT_DAYS = 30

export const ERRORS = [
  'timed-out',
  'unreachable',
  'refused-address',
  'unresolvable',
  'tls',
  'redirect',
] as const
export type DeliveryError = (typeof ERRORS)[number]

export type Delivery = {
  id: number
  event_id: string
  type: string
  state: 'waiting' | 'delivered' | 'failed' | 'cancelled'
  attempts: number
  created_at: string
  last_attempt_at: string | null
  next_attempt_at: string | null
  status: number | null
  error: DeliveryError | null
  answer: string | null
  ms: number | null
  replay_of: number | null
}

const FIELDS = `d.id::float8 as id, d.event_id, e.type, d.state, d.attempts, iso_time(d.created_at) as created_at,
  iso_time(d.last_attempt_at) as last_attempt_at,
  case when d.state = 'waiting' then iso_time(d.due_at) end as next_attempt_at,
  d.status, d.error, d.answer, d.ms, d.replay_of::float8 as replay_of`

/** Newest first; `after`: the last id of the page before. Throws `endpoint_not_found`. */
export async function listDeliveries(
  db: Queryable,
  account: AccountId,
  endpoint: number,
  { limit, after }: { limit: number; after: number | null },
): Promise<{ deliveries: Delivery[]; next: number | null }> {
  const owned = await db.query('select from endpoint where account_id = $1 and id = $2::bigint', [
    account,
    endpoint,
  ])
  if (owned.rowCount === 0) throw new AppError('endpoint_not_found')
  const { rows } = await db.query<Delivery>(
    `select ${FIELDS} from delivery d join event e on e.id = d.event_id
      where d.account_id = $1 and d.endpoint_id = $2::bigint and ($3::bigint is null or d.id < $3)
        and d.created_at > now() - make_interval(days => ${KEPT_DAYS})
      order by d.id desc limit $4`,
    [account, endpoint, after, limit + 1],
  )
  const deliveries = rows.slice(0, limit)
  return { deliveries, next: rows.length > limit ? deliveries.at(-1)!.id : null }
}

/** Tests and replays of an account, over all nodes. */
const RATE = { what: 'delivery', most: 30, withinMs: 60_000 }

async function countRequest(db: Queryable, account: AccountId): Promise<void> {
  const seconds = await takeOfRate(db, account, RATE)
  if (seconds !== null) throw new AppError('delivery_rate', { headers: { 'Retry-After': String(seconds) } })
}

/** Also to an endpoint that is switched off. Tried once. Throws `endpoint_not_found` or `delivery_rate`. */
export async function testEndpoint(pool: pg.Pool, account: AccountId, endpoint: number): Promise<Delivery> {
  return transaction(pool, async (client) => {
    const owned = await client.query('select from endpoint where account_id = $1 and id = $2::bigint', [
      account,
      endpoint,
    ])
    if (owned.rowCount === 0) throw new AppError('endpoint_not_found')
    await countRequest(client, account)
    return insertDelivery(
      client,
      `with made as (
         insert into event (account_id, type, body) values ($1, 'endpoint.test', event_body('endpoint.test', '{}'))
         returning id)
       insert into delivery (event_id, account_id, endpoint_id) select id, $1, $2 from made`,
      [account, endpoint],
    )
  })
}

/** Sends the same event once more. Throws `delivery_not_found`, `delivery_waiting` or `delivery_rate`. */
export async function replayDelivery(pool: pg.Pool, account: AccountId, id: number): Promise<Delivery> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ state: string }>(
      `select state from delivery where account_id = $1 and id = $2 and endpoint_id is not null
          and created_at > now() - make_interval(days => ${KEPT_DAYS}) for no key update`,
      [account, id],
    )
    if (rows[0] === undefined) throw new AppError('delivery_not_found')
    if (rows[0].state === 'waiting') throw new AppError('delivery_waiting')
    await countRequest(client, account)
    return insertDelivery(
      client,
      `insert into delivery (event_id, account_id, domain_id, endpoint_id, replay_of)
       select event_id, account_id, domain_id, endpoint_id, id from delivery where id = $2 and account_id = $1`,
      [account, id],
    )
  })
}

async function insertDelivery(client: Queryable, insert: string, values: unknown[]): Promise<Delivery> {
  const made = await client.query<{ id: string }>(`${insert} returning id`, values)
  const { rows } = await client.query<Delivery>(
    `select ${FIELDS}, pg_notify('${DELIVERY_CHANNEL}', '') from delivery d join event e on e.id = d.event_id
      where d.id = $1`,
    [made.rows[0]!.id],
  )
  return rows[0]!
}

/** With their deliveries. */
export async function removeOldEvents(pool: pg.Pool, steps?: Steps): Promise<number> {
  const events = await removeOld(pool, { table: 'event', at: 'created_at', keptDays: KEPT_DAYS }, steps)
  return events + (await removeOld(pool, { table: 'confirmation', at: 'sent_at', keptDays: 1 }, steps))
}
