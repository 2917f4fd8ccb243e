import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { addressesSchema, addressSchema } from '@prepaint/contract/api/notifications.ts'
import { invalidField } from '@prepaint/contract/errors.ts'
import { type AccountId, type DomainId, type Scope, wholeAccount } from '@prepaint/contract/ids.ts'
import { INCIDENT_KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { record } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { z } from 'zod'
import { type Changer, rightsNow } from '../../accounts/actor.ts'
import { parseEmail } from '../../accounts/email.ts'
import { domainIds } from '../../accounts/members.ts'
import { channelPurpose, type Vault } from '../../certificates/vault/vault.ts'
import { cancelWaiting } from './endpoints.ts'

/** Confirmation e-mails in 24 hours. */
const PER_ADDRESS = 3
const PER_ACCOUNT = 20
/** Each address; it chooses kinds of incidents, and reports. */
const TOLD_OF = ['incident.opened', 'incident.updated', 'incident.resolved', 'mail.reminder']
/** What an address is told of that wants the report of each month. */
export const MONTHLY_REPORT = 'mail.monthly_report'

type Address = z.infer<typeof addressSchema>

/** Domains are cut to those within the scope. */
export async function listAddresses(db: Queryable, { account, domains }: Scope): Promise<Address[]> {
  const { rows } = await db.query<Address>(
    `select address as email,
            case when domains is not null then array(
              select d.custom_domain from domain d
               where d.account_id = c.account_id and d.id = any (c.domains) and ($3::integer[] is null or d.id = any ($3))
               order by d.custom_domain) end as domains,
            coalesce(kinds, $2) as kinds, 'report.weekly' = any (events) as weekly_report,
            '${MONTHLY_REPORT}' = any (events) as monthly_report, state
       from channel c where account_id = $1 and format = 'mail' order by id`,
    [account, INCIDENT_KINDS, domains],
  )
  return rows
}

function eventsOf({
  weekly_report: weekly = false,
  monthly_report: monthly = false,
}: Partial<Address>): string[] {
  const events = [...TOLD_OF]
  if (weekly) events.push('report.weekly')
  if (monthly) events.push(MONTHLY_REPORT)
  return events
}

/** The address of a new account is told of its incidents from the start. Call in the transaction that creates the account. */
export async function addOwnAddress(client: Queryable, account: AccountId, email: string): Promise<void> {
  await client.query(
    `insert into channel (account_id, format, address) values ($1, 'mail', $2)
     on conflict (account_id, lower(address)) where format = 'mail' do nothing`,
    [account, email],
  )
}

/**
 * Replaces the list. New and unsubscribed addresses get a confirmation e-mail. Throws `invalid_field`, and `domain_not_found`
 * for a name that the account lacks, and as `rightsNow`.
 */
export async function setAddresses(
  pool: pg.Pool,
  account: AccountId,
  inputs: z.infer<typeof addressesSchema>,
  by: Changer = null,
): Promise<Address[]> {
  const emails = inputs.map(({ email }) => parseEmail(email))
  for (const [at, email] of emails.entries()) {
    const isTwice = emails.indexOf(email) < at
    if (email !== null && !isTwice) continue
    const why = email === null ? 'must be an e-mail address' : 'is listed twice'
    throw invalidField(['emails', at, 'email'], why)
  }
  return transaction(pool, async (client) => {
    await client.query('select from account where id = $1 for no key update', [account])
    await rightsNow(client, account, by, 'putNotifications')
    const before = await listAddresses(client, wholeAccount(account))
    const others = `account_id = $1 and format = 'mail' and lower(address) <> all ($2::text[])`
    await client.query(`delete from channel where ${others}`, [account, emails])
    for (const [at, input] of inputs.entries()) {
      const { domains: names = null, kinds } = input
      const domains: DomainId[] | null = names === null ? null : await domainIds(client, account, names)
      const { rows } = await client.query<{ id: number; is_settled: boolean | null }>(
        `insert into channel as c (account_id, format, address, kinds, events, domains, state)
         values ($1, 'mail', $2, $3, $4, $5, 'waiting')
         on conflict (account_id, lower(address)) where format = 'mail'
           do update set kinds = excluded.kinds, events = excluded.events, domains = excluded.domains
         returning id, state = 'confirmed' or (state = 'waiting' and confirm_until > clock_timestamp()) as is_settled`,
        [account, emails[at], kinds && [...new Set(kinds)], eventsOf(input), domains],
      )
      const { id, is_settled: isSettled } = rows[0]!
      if (isSettled !== true) await askToConfirm(client, account, id, emails[at]!)
    }
    const after = await listAddresses(client, wholeAccount(account))
    const shown = (list: readonly Address[]) => list.map(({ state: _state, ...chosen }) => chosen)
    if (!isDeepStrictEqual(shown(before), shown(after))) {
      const details = { emails: { old: shown(before), new: shown(after) } }
      await record(client, { account, action: 'notifications.changed', details })
    }
    return after
  })
}

/** Within the limits; else nothing is sent. */
async function askToConfirm(client: Queryable, account: AccountId, id: number, email: string): Promise<void> {
  // Two accounts that name one address at once are counted one after the other.
  await client.query('lock table confirmation in share row exclusive mode')
  await client.query(
    `with lately as (select * from confirmation where sent_at > clock_timestamp() - interval '24 hours'),
     counted as (
       insert into confirmation (email, account_id)
       select $1, $2 where (select count(*) from lately where email = $1) < $3
          and (select count(*) from lately where account_id = $2) < $4
       returning id),
     asked as (
       update channel set confirm_round = confirm_round + 1, confirm_until = clock_timestamp() + interval '7 days'
        where id = $5 and exists (select from counted) returning *)
     select record_event(account_id, null, null, 'mail.confirmation', 'confirmation ' || id || ' ' || confirm_round, '{}', id)
       from asked`,
    [email, account, PER_ADDRESS, PER_ACCOUNT, id],
  )
}

// Links in e-mails carry `<address>.<round>.<HMAC>`. Nothing of them is stored: a repeated e-mail has the same link, and
// a token counts as long as its address has the same secret.

/** The secret of an address, made at its first use. Throws MasterKeyError. */
export async function secretOf(db: Queryable, vault: Vault, address: number): Promise<Buffer> {
  const purpose = channelPurpose(address)
  const { rows } = await db.query<{ key_sealed: Buffer }>(
    'update channel set key_sealed = coalesce(key_sealed, $2) where id = $1 returning key_sealed',
    [address, await vault.seal(purpose, randomBytes(32))],
  )
  return vault.open(purpose, rows[0]!.key_sealed)
}

/** `round` 0: to unsubscribe. */
export function linkToken(secret: Buffer, address: number, round: number): string {
  const mac = createHmac('sha256', secret).update(`link ${round}`).digest('base64url')
  return [address, round, mac].join('.')
}

/** Returns null if the link is not genuine. */
export async function readLink(
  db: Queryable,
  vault: Vault,
  token: string,
): Promise<{ address: number; round: number } | null> {
  const [address = 0, round = 0] = /^(\d{1,9})\.(\d{1,9})\.[\w-]{43}$/.exec(token)?.slice(1).map(Number) ?? []
  const { rows } = await db.query<{ key_sealed: Buffer }>(
    `select key_sealed from channel where id = $1 and format = 'mail' and key_sealed is not null`,
    [address],
  )
  if (rows[0] === undefined) return null
  try {
    const genuine = linkToken(vault.open(channelPurpose(address), rows[0].key_sealed), address, round)
    return timingSafeEqual(Buffer.from(genuine), Buffer.from(token)) ? { address, round } : null
  } catch {
    // Of another length, or sealed with a master key that is lost.
    return null
  }
}

/** Works at once and as often as it is asked for. Returns the address, or null if it was removed. */
export async function unsubscribe(pool: pg.Pool, address: number): Promise<string | null> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ account: AccountId; email: string; state: string }>(
      'select account_id as account, address as email, state from channel where id = $1 for update',
      [address],
    )
    if (rows[0] === undefined) return null
    const { account, email, state } = rows[0]
    await client.query(`update channel set state = 'unsubscribed', confirm_until = null where id = $1`, [
      address,
    ])
    await cancelWaiting(client, address)
    await recordState(client, account, email, { old: state, new: 'unsubscribed' })
    return email
  })
}

/** Who has the link of an e-mail signs in nowhere: the entry names the address. */
async function recordState(
  client: Queryable,
  account: AccountId,
  email: string,
  state: { old: string; new: string },
): Promise<void> {
  if (state.old === state.new) return
  await record(client, { account, action: 'notifications.changed', target: email, details: { state } })
}

/** Works once, within seven days. Returns the address, or null if the link was used, has ended or never was one. */
export async function confirm(pool: pg.Pool, vault: Vault, token: string): Promise<string | null> {
  const link = await readLink(pool, vault, token)
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ account: AccountId; email: string; state: string }>(
      `select account_id as account, address as email, state from channel
        where id = $1 and confirm_round = $2 and confirm_until > clock_timestamp() for update`,
      [link?.address, link?.round],
    )
    if (rows[0] === undefined) return null
    const { account, email, state } = rows[0]
    await client.query(`update channel set state = 'confirmed', confirm_until = null where id = $1`, [
      link?.address,
    ])
    await recordState(client, account, email, { old: state, new: 'confirmed' })
    return email
  })
}
