import type {
  DELIVERY_ERRORS,
  deliveriesSchema,
  deliverySchema,
} from '@prepaint/contract/api/notifications.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { pageOf, type pageQuery } from '@prepaint/contract/notifications/lists.ts'
import { Rate } from '@prepaint/postgres/rates'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { z } from 'zod'
import { ownerOfEndpoint } from './endpoints.ts'

const KEPT_DAYS = 30
/** Reports of months read deploys from events, up to a week after the month. */
const EVENTS_KEPT_DAYS = 40

export type DeliveryError = (typeof DELIVERY_ERRORS)[number]

export type Delivery = z.infer<typeof deliverySchema>

const FIELDS = `d.id::float8 as id, d.event_id, e.type, d.state, d.attempts, iso_time(d.created_at) as created_at,
  iso_time(d.last_attempt_at) as last_attempt_at,
  case when d.state = 'waiting' then iso_time(d.due_at) end as next_attempt_at,
  d.status, d.error, d.answer, d.ms, d.replay_of::float8 as replay_of`

/** Newest first; `after`: the last id of the page before. Throws `endpoint_not_found`. */
export async function listDeliveries(
  db: Queryable,
  account: AccountId,
  endpoint: number,
  { limit, after = Number.MAX_SAFE_INTEGER }: z.infer<typeof pageQuery>,
): Promise<z.infer<typeof deliveriesSchema>> {
  await ownerOfEndpoint(db, account, endpoint)
  // Comparing rows and ordering by all columns forces the index `delivery_channel`: nothing is sorted.
  const { rows } = await db.query<Delivery>(
    `select ${FIELDS} from delivery d join event e on e.id = d.event_id
      where (d.channel_id, d.account_id, d.id) < ($2, $1, $3) and d.channel_id >= $2 and d.account_id >= $1
        and d.created_at > now() - make_interval(days => ${KEPT_DAYS})
      order by d.channel_id desc, d.account_id desc, d.id desc limit $4`,
    [account, endpoint, after, limit + 1],
  )
  const { page: deliveries, next } = pageOf(rows, limit)
  return { deliveries, next }
}

/** Also to an endpoint that is switched off. Tried once. `of` null: for operators. Throws `endpoint_not_found` or `delivery_rate`. */
export async function testEndpoint(pool: pg.Pool, of: AccountId | null, endpoint: number): Promise<Delivery> {
  return transaction(pool, async (client) => {
    const account = await ownerOfEndpoint(client, of, endpoint)
    const insert = `
      with made as (
        insert into event (account_id, type, body) values ($1, 'endpoint.test', event_body('endpoint.test', '{}'))
        returning id)
      insert into delivery (event_id, account_id, channel_id) select id, $1, $2 from made`
    return insertDelivery(client, account, insert, endpoint)
  })
}

/** Sends the same event once more. Throws `delivery_not_found`, `delivery_waiting` or `delivery_rate`. */
export async function replayDelivery(pool: pg.Pool, account: AccountId, id: number): Promise<Delivery> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ state: string }>(
      `select d.state from delivery d join channel c on c.id = d.channel_id
        where d.account_id = $1 and d.id = $2 and c.format <> 'mail'
          and d.created_at > now() - make_interval(days => ${KEPT_DAYS}) for no key update of d`,
      [account, id],
    )
    if (rows[0] === undefined) throw new AppError('delivery_not_found')
    if (rows[0].state === 'waiting') throw new AppError('delivery_waiting')
    const insert = `
      insert into delivery (event_id, account_id, domain_id, channel_id, replay_of)
      select event_id, account_id, domain_id, channel_id, id from delivery where account_id = $1 and id = $2`
    return insertDelivery(client, account, insert, id)
  })
}

/** Tests and replays of an account, over all nodes. */
const RATE = new Rate({ what: 'delivery', most: 30, withinMs: 60_000, window: 'sliding' })

async function insertDelivery(
  client: Queryable,
  account: AccountId,
  insert: string,
  of: number,
): Promise<Delivery> {
  const refusal = await RATE.take(client, `account ${account}`)
  if (refusal !== null) throw new AppError('delivery_rate', { headers: refusal.headers })
  const returning = `returning id, ask_task('delivery', channel_id::text, account_id)`
  const made = await client.query<{ id: string }>(`${insert} ${returning}`, [account, of])
  const { rows } = await client.query<Delivery>(
    `select ${FIELDS} from delivery d join event e on e.id = d.event_id where d.id = $1`,
    [made.rows[0]!.id],
  )
  return rows[0]!
}

/** With their deliveries. */
export async function removeOldEvents(pool: pg.Pool, steps?: Steps): Promise<number> {
  const events = await removeOld(
    pool,
    { table: 'event', at: 'created_at', keptDays: EVENTS_KEPT_DAYS },
    steps,
  )
  return events + (await removeOld(pool, { table: 'confirmation', at: 'sent_at', keptDays: 1 }, steps))
}
