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

const kindsSchema = z.array(z.enum(INCIDENT_KINDS))

export const recipientSchema = z.object({
  email: z.string(),
  kinds: kindsSchema.describe('Kinds of incidents that it is told of'),
  weekly_report: z.boolean(),
  state: z
    .enum(['waiting', 'confirmed', 'unsubscribed', 'refused'])
    .describe('`waiting`: not confirmed yet; `refused`: the mail server refused the address'),
})

export const recipientsSchema = z
  .array(
    z.object({
      email: z.string(),
      kinds: kindsSchema.optional().describe('Default: all'),
      weekly_report: z.boolean().optional(),
    }),
  )
  .max(10)

export type Recipient = z.infer<typeof recipientSchema>

export async function listRecipients(db: Queryable, account: AccountId): Promise<Recipient[]> {
  const { rows } = await db.query<Recipient>(
    'select email, kinds, weekly_report, state from recipient where account_id = $1 order by id',
    [account],
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
    for (const [at, { kinds = INCIDENT_KINDS, weekly_report: report = false }] of inputs.entries()) {
      const { rows } = await client.query<{ id: number; state: Recipient['state']; is_ended: boolean }>(
        `insert into recipient as r (account_id, email, kinds, weekly_report, state) values ($1, $2, $3, $4, 'waiting')
         on conflict (account_id, lower(email)) do update set kinds = excluded.kinds, weekly_report = excluded.weekly_report
         returning id, state, confirm_until is null or confirm_until <= clock_timestamp() as is_ended`,
        [account, emails[at], [...new Set(kinds)], report],
      )
      const { id, state, is_ended: isEnded } = rows[0]!
      const isUsed = state === 'confirmed' || (state === 'waiting' && !isEnded)
      if (!isUsed) await askToConfirm(client, account, id, emails[at]!)
    }
    return listRecipients(client, account)
  })
}

/** Within the limits; else nothing is sent. */
async function askToConfirm(client: Queryable, account: AccountId, id: number, email: string): Promise<void> {
  const { rowCount } = await client.query(
    `insert into confirmation (email, account_id)
     select $1, $2 where (select count(*) from confirmation where email = $1 and sent_at > clock_timestamp() - interval '24 hours') < $3
        and (select count(*) from confirmation where account_id = $2 and sent_at > clock_timestamp() - interval '24 hours') < $4`,
    [email, account, PER_ADDRESS, PER_ACCOUNT],
  )
  if (rowCount === 0) return
  const { rows } = await client.query<{ round: number }>(
    `update recipient set confirm_round = confirm_round + 1, confirm_until = clock_timestamp() + interval '7 days'
      where id = $1 returning confirm_round as round`,
    [id],
  )
  const key = `confirmation ${id} ${rows[0]!.round}`
  await client.query(`select record_event($1, null, null, 'mail.confirmation', $2, '{}', $3)`, [
    account,
    key,
    id,
  ])
}
