import { randomBytes } from 'node:crypto'
import {
  EVENT_TYPES,
  type endpointChangeSchema,
  type endpointSchema,
  type newEndpointSchema,
} from '@prepaint/contract/api/notifications.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import type { Plan } from '@prepaint/contract/settings/plans.ts'
import { changedFields, record, SECRET } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { z } from 'zod'
import { type Changer, rightsNow } from '../../accounts/actor.ts'
import { channelPurpose, type Vault } from '../../certificates/vault/vault.ts'

const ENDPOINTS_LIMIT = 5

export type Endpoint = z.infer<typeof endpointSchema>

export function requireEndpoints(plan: Plan): void {
  if (!plan.webhooks) throw new AppError('plan_without_endpoints')
}

const FIELDS = `id, address as url, format, events, state = 'confirmed' as is_active, iso_time(created_at) as created_at,
  iso_time(failing_since) as failing_since, iso_time(switched_off_at) as switched_off_at`

/** `account` null: of all, for operators. */
const OWN = `format <> 'mail' and ($1::integer is null or account_id = $1)`

export async function listEndpoints(db: Queryable, account: AccountId): Promise<Endpoint[]> {
  const { rows } = await db.query<Endpoint>(`select ${FIELDS} from channel where ${OWN} order by id`, [
    account,
  ])
  return rows
}

/** The caller has checked plan and URL. Throws `endpoint_limit`, as `rightsNow`, or MasterKeyError if nothing can be sealed here. */
export async function createEndpoint(
  pool: pg.Pool,
  vault: Vault,
  account: AccountId,
  input: z.infer<typeof newEndpointSchema>,
  by: Changer = null,
): Promise<Endpoint & { secret: string }> {
  const { url, format = 'standard', events = EVENT_TYPES.filter((type) => type !== 'report.weekly') } = input
  const secret = randomBytes(32)
  // Before the transaction: it may register the master key in one of its own.
  await vault.admit()
  return transaction(pool, async (client) => {
    await client.query('select from account where id = $1 for no key update', [account])
    await rightsNow(client, account, by, 'createEndpoint')
    const { rows } = await client.query<{ id: number; used: number }>(
      `select nextval(pg_get_serial_sequence('channel', 'id'))::integer as id, count(*)::integer as used
         from channel where ${OWN}`,
      [account],
    )
    const { id, used } = rows[0]!
    if (used >= ENDPOINTS_LIMIT) throw new AppError('endpoint_limit')
    const made = await client.query<Endpoint>(
      `insert into channel (id, account_id, address, format, events, key_sealed) overriding system value
       values ($1, $2, $3, $4, $5, $6) returning ${FIELDS}`,
      [id, account, url, format, [...new Set(events)], await vault.seal(channelPurpose(id), secret)],
    )
    const details = { format, events, secret: SECRET }
    await record(client, { account, action: 'endpoint.created', target: recordedUrl(url), details })
    return { ...made.rows[0]!, secret: `whsec_${secret.toString('base64')}` }
  })
}

/** Throws `endpoint_not_found` and as `rightsNow`. */
export async function updateEndpoint(
  pool: pg.Pool,
  account: AccountId,
  id: number,
  { url, events, is_active: isActive }: z.infer<typeof endpointChangeSchema>,
  by: Changer = null,
): Promise<Endpoint> {
  return transaction(pool, async (client) => {
    await rightsNow(client, account, by, 'updateEndpoint')
    const { rows: before } = await client.query<Endpoint>(
      `select ${FIELDS} from channel where ${OWN} and id = $2::bigint for update`,
      [account, id],
    )
    const { rows } = await client.query<Endpoint>(
      `update channel set address = coalesce($3, address), events = coalesce($4, events),
              state = case when $5 then 'confirmed' when not $5 then 'off' else state end,
              failing_since = case when $5 then null else failing_since end,
              failures = case when $5 then 0 else failures end,
              switched_off_at = case when $5 then null else switched_off_at end
        where ${OWN} and id = $2::bigint returning ${FIELDS}`,
      [account, id, url, events && [...new Set(events)], isActive],
    )
    const endpoint = found(rows)
    if (isActive === false) await cancelWaiting(client, id)
    const old = found(before)
    const shown = ({ events, is_active }: Endpoint) => ({ events, is_active })
    const details = changedFields(shown(old), shown(endpoint))
    const target = recordedUrl(endpoint.url)
    if (old.url !== endpoint.url) {
      const origin = recordedUrl(old.url)
      details['url'] = origin === target ? SECRET : { old: origin, new: target }
    }
    if (Object.keys(details).length > 0) {
      await record(client, { account, action: 'endpoint.changed', target, details })
    }
    return endpoint
  })
}

/** The path of a webhook at Slack and others is its secret. */
function recordedUrl(url: string): string {
  return `${new URL(url).origin}/…`
}

export async function cancelWaiting(client: Queryable, channel: number): Promise<void> {
  const sql = `update delivery set state = 'cancelled' where channel_id = $1 and state = 'waiting'`
  await client.query(sql, [channel])
}

/** What happened at a domain is not delivered once it is deleted. */
export async function cancelWaitingOfDomain(client: Queryable, domain: DomainId): Promise<void> {
  const sql = `update delivery set state = 'cancelled' where domain_id = $1 and state = 'waiting'`
  await client.query(sql, [domain])
}

/** Its deliveries are deleted too. Throws `endpoint_not_found` and as `rightsNow`. */
export async function deleteEndpoint(
  pool: pg.Pool,
  account: AccountId | null,
  id: number,
  by: Changer = null,
): Promise<{ id: number; url: string }> {
  return transaction(pool, async (client) => {
    if (account !== null) await rightsNow(client, account, by, 'deleteEndpoint')
    const { rows } = await client.query<{ id: number; url: string; account_id: AccountId }>(
      `delete from channel where ${OWN} and id = $2::bigint returning id, address as url, account_id`,
      [account, id],
    )
    const { url, account_id: owner } = found(rows)
    await record(client, { account: owner, action: 'endpoint.deleted', target: recordedUrl(url) })
    return { id, url }
  })
}

/** Throws `endpoint_not_found`. */
export async function ownerOfEndpoint(
  db: Queryable,
  account: AccountId | null,
  id: number,
): Promise<AccountId> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    `select account_id from channel where ${OWN} and id = $2::bigint`,
    [account, id],
  )
  return found(rows).account_id
}

function found<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new AppError('endpoint_not_found')
  return row
}
