import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { Vault } from '../../certificates/vault/vault.ts'
import { endpointPurpose } from '../../certificates/vault/vault.ts'
import { type Queryable, transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'

export const EVENT_TYPES = [
  'incident.opened',
  'incident.updated',
  'incident.resolved',
  'domain.live',
  'domain.certificate_issued',
  'deploy.detected',
  'warm.finished',
  'report.weekly',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

export const ENDPOINTS_LIMIT = 5

export type EndpointFormat = 'standard' | 'slack'

export type Endpoint = {
  id: number
  url: string
  format: EndpointFormat
  events: EventType[]
  is_active: boolean
  created_at: string
  failing_since: string | null
  switched_off_at: string | null
}

const FIELDS = `id, url, format, events, is_active, iso_time(created_at) as created_at,
  iso_time(failing_since) as failing_since, iso_time(switched_off_at) as switched_off_at`

export async function listEndpoints(db: Queryable, account: AccountId): Promise<Endpoint[]> {
  const { rows } = await db.query<Endpoint>(
    `select ${FIELDS} from endpoint where account_id = $1 order by id`,
    [account],
  )
  return rows
}

/** The caller has checked plan and URL. Throws `endpoint_limit`, or MasterKeyError if nothing can be sealed here. */
export async function createEndpoint(
  pool: pg.Pool,
  vault: Vault,
  account: AccountId,
  input: { url: string; format?: EndpointFormat | undefined; events?: readonly EventType[] | undefined },
): Promise<Endpoint & { secret: string }> {
  const { url, format = 'standard', events = EVENT_TYPES.filter((type) => type !== 'report.weekly') } = input
  const secret = randomBytes(32)
  // Before the transaction: it may register the master key in one of its own.
  await vault.admit()
  return transaction(pool, async (client) => {
    await client.query('select from account where id = $1 for no key update', [account])
    const { rows } = await client.query<{ id: number; used: number }>(
      `select nextval(pg_get_serial_sequence('endpoint', 'id'))::integer as id,
              (select count(*)::integer from endpoint where account_id = $1) as used`,
      [account],
    )
    const { id, used } = rows[0]!
    if (used >= ENDPOINTS_LIMIT) throw new AppError('endpoint_limit')
    const sealed = await vault.seal(endpointPurpose(id), secret)
    const made = await client.query<Endpoint>(
      `insert into endpoint (id, account_id, url, format, events, key_sealed) overriding system value
       values ($1, $2, $3, $4, $5, $6) returning ${FIELDS}`,
      [id, account, url, format, [...new Set(events)], sealed],
    )
    return { ...made.rows[0]!, secret: `whsec_${secret.toString('base64')}` }
  })
}

/** `isActive` false cancels what waits; true forgets the failures. Throws `endpoint_not_found`. */
export async function updateEndpoint(
  pool: pg.Pool,
  account: AccountId,
  id: number,
  change: {
    url?: string | undefined
    events?: readonly EventType[] | undefined
    is_active?: boolean | undefined
  },
): Promise<Endpoint> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<Endpoint>(
      `update endpoint set url = coalesce($3, url), events = coalesce($4, events), is_active = coalesce($5, is_active),
              failing_since = case when $5 then null else failing_since end,
              failures = case when $5 then 0 else failures end,
              switched_off_at = case when $5 then null else switched_off_at end
        where account_id = $1 and id = $2::bigint returning ${FIELDS}`,
      [
        account,
        id,
        change.url ?? null,
        change.events === undefined ? null : [...new Set(change.events)],
        change.is_active ?? null,
      ],
    )
    if (rows[0] === undefined) throw new AppError('endpoint_not_found')
    if (change.is_active === false) await cancelWaiting(client, id)
    return rows[0]
  })
}

/** Its deliveries are deleted too. Throws `endpoint_not_found`. */
export async function deleteEndpoint(
  db: Queryable,
  account: AccountId,
  id: number,
): Promise<{ id: number; url: string }> {
  const { rows } = await db.query<{ id: number; url: string }>(
    'delete from endpoint where account_id = $1 and id = $2::bigint returning id, url',
    [account, id],
  )
  if (rows[0] === undefined) throw new AppError('endpoint_not_found')
  return rows[0]
}

/** For operators. Throws `endpoint_not_found`. */
export async function ownerOfEndpoint(db: Queryable, id: number): Promise<AccountId> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    'select account_id from endpoint where id = $1::bigint',
    [id],
  )
  if (rows[0] === undefined) throw new AppError('endpoint_not_found')
  return rows[0].account_id
}

const OFF_AFTER_MS = 3 * 86_400_000
const OFF_AFTER_FAILURES = 10

/**
 * After an attempt that counts: notes success or failure, and switches the endpoint off (`gone`: at once) with an
 * e-mail to the account's own address.
 */
export async function noteAttempt(
  client: Queryable,
  id: number,
  attempt: { isGood: boolean; isGone: boolean },
  speed: number,
): Promise<void> {
  if (attempt.isGood) {
    await client.query(
      'update endpoint set failing_since = null, failures = 0 where id = $1 and failing_since is not null',
      [id],
    )
    return
  }
  const { rowCount } = await client.query(
    `with counted as (
       update endpoint set failing_since = coalesce(failing_since, clock_timestamp()), failures = failures + 1,
              is_active = is_active and not ($2 or off), switched_off_at = case when is_active and ($2 or off) then clock_timestamp() else switched_off_at end
         from (select id as of_id, coalesce(failures + 1 >= $3
                          and failing_since <= clock_timestamp() - $4 * interval '1 millisecond', false) as off
                 from endpoint where id = $1 for update) e
        where id = of_id and is_active
       returning id, account_id, url, is_active, switched_off_at)
     select record_event(c.account_id, null, null, 'mail.switched_off',
              'endpoint ' || c.id || ' off ' || extract(epoch from c.switched_off_at), json_build_object('url', c.url), r.id)
       from counted c left join account a on a.id = c.account_id
       left join recipient r on r.account_id = a.id and lower(r.email) = a.email and r.state = 'confirmed'
      where not c.is_active`,
    [id, attempt.isGone, OFF_AFTER_FAILURES, OFF_AFTER_MS / speed],
  )
  if (rowCount !== 0) await cancelWaiting(client, id)
}

async function cancelWaiting(client: Queryable, endpoint: number): Promise<void> {
  await client.query(`update delivery set state = 'cancelled' where endpoint_id = $1 and state = 'waiting'`, [
    endpoint,
  ])
}
