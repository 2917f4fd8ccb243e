import type pg from 'pg'
import { z } from 'zod'
import { parseEmail } from '../../accounts/email.ts'
import { type Queryable, transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'
import { INCIDENT_KINDS } from '../kinds.ts'

/** Confirmation e-mails in 24 hours. */
const PER_ADDRESS = 3
const PER_ACCOUNT = 20

export const recipientSchema = z.object({
  email: z.string(),
  kinds: z.array(z.enum(INCIDENT_KINDS)).describe('Kinds of incidents that it is told of; default: all'),
  weekly_report: z.boolean(),
  state: z
    .enum(['waiting', 'confirmed', 'unsubscribed', 'refused'])
    .describe('`waiting`: not confirmed yet; `refused`: the mail server refused the address'),
})

export const recipientsSchema = z
  .array(recipientSchema.omit({ state: true }).partial({ kinds: true, weekly_report: true }))
  .max(10)

export type Recipient = z.infer<typeof recipientSchema>

export async function listRecipients(db: Queryable, account: AccountId): Promise<Recipient[]> {
  const { rows } = await db.query<Recipient>(
    'select email, coalesce(kinds, $2) as kinds, weekly_report, state from recipient where account_id = $1 order by id',
    [account, INCIDENT_KINDS],
  )
  return rows
}

/** Replaces the list. New and unsubscribed addresses get a confirmation e-mail. Throws `invalid_field`. */
export async function setRecipients(
  pool: pg.Pool,
  account: AccountId,
  inputs: z.infer<typeof recipientsSchema>,
): Promise<Recipient[]> {
  const emails = inputs.map(({ email }, at) => {
    const parsed = parseEmail(email)
    if (parsed === null)
      throw new AppError('invalid_field', { word: `emails[${at}].email must be an e-mail address` })
    return parsed
  })
  const twice = emails.findIndex((email, at) => emails.indexOf(email) < at)
  if (twice !== -1) throw new AppError('invalid_field', { word: `emails[${twice}].email is listed twice` })
  return transaction(pool, async (client) => {
    await client.query('select from account where id = $1 for no key update', [account])
    await client.query('delete from recipient where account_id = $1 and lower(email) <> all ($2::text[])', [
      account,
      emails,
    ])
    for (const [at, { kinds, weekly_report: report = false }] of inputs.entries()) {
      const { rows } = await client.query<{ id: number; is_settled: boolean | null }>(
        `insert into recipient as r (account_id, email, kinds, weekly_report, state) values ($1, $2, $3, $4, 'waiting')
         on conflict (account_id, lower(email)) do update set kinds = excluded.kinds, weekly_report = excluded.weekly_report
         returning id, state = 'confirmed' or (state = 'waiting' and confirm_until > clock_timestamp()) as is_settled`,
        [account, emails[at], kinds && [...new Set(kinds)], report],
      )
      const { id, is_settled: isSettled } = rows[0]!
      if (isSettled !== true) await askToConfirm(client, account, id, emails[at]!)
    }
    return listRecipients(client, account)
  })
}

/** Within the limits; else nothing is sent. */
async function askToConfirm(client: Queryable, account: AccountId, id: number, email: string): Promise<void> {
  await client.query(
    `with counted as (
       insert into confirmation (email, account_id)
       select $1, $2 where (select count(*) from confirmation where email = $1 and sent_at > clock_timestamp() - interval '24 hours') < $3
          and (select count(*) from confirmation where account_id = $2 and sent_at > clock_timestamp() - interval '24 hours') < $4
       returning id),
     asked as (
       update recipient set confirm_round = confirm_round + 1, confirm_until = clock_timestamp() + interval '7 days'
        where id = $5 and exists (select from counted) returning *)
     select record_event(account_id, null, null, 'mail.confirmation', 'confirmation ' || id || ' ' || confirm_round, '{}', id)
       from asked`,
    [email, account, PER_ADDRESS, PER_ACCOUNT, id],
  )
}
