import type { Mailer } from '../../mail/mailer.ts'
import type { Attempt, ClaimedRow } from './claim.ts'
import { letterOf } from './letters.ts'
import { linkToken, secretOf } from './links.ts'
import type { SenderDeps } from './sender.ts'

export type MailServer = { mailer: Pick<Mailer, 'attempt'>; publicUrl: string }

/** One e-mail for the claimed rows of one recipient. Never rejects. */
export async function sendMail(
  { pool, vault, log }: Pick<SenderDeps, 'pool' | 'vault' | 'log'>,
  { mailer, publicUrl }: MailServer,
  claimed: readonly ClaimedRow[],
): Promise<Attempt['end']> {
  try {
    const rows = claimed.toSorted((a, b) => Number(a.id) - Number(b.id))
    const [{ recipient_id, type, email: to, address_state: state, confirm_round: round }] = rows as [
      ClaimedRow,
    ]
    if (type !== 'mail.confirmation' && state !== 'confirmed') return 'cancelled'
    const id = recipient_id!
    const secret = await secretOf(pool, vault, id)
    const unsubscribe = `${publicUrl}/unsubscribe/${linkToken(secret, id, 0)}`
    const confirm = `${publicUrl}/confirm#${linkToken(secret, id, round)}`
    const bodies = rows.map(({ body }) => body)
    const outcome = await mailer.attempt({
      ...{ to, ...letterOf(bodies, { unsubscribe, confirm, publicUrl }) },
      // Made from the newest event: a repetition after a crash is recognised, and one that holds more is another e-mail.
      messageId: `<${rows.at(-1)!.event_id}.${id}@${new URL(publicUrl).hostname}>`,
      headers: {
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
    })
    if (outcome !== 'refused') return outcome === 'sent' ? 'delivered' : 'retry'
    const sql = `update recipient set state = 'refused' where id = $1 and state <> 'unsubscribed'`
    await pool.query(sql, [id])
    return 'failed'
  } catch (error) {
    log.warn({ err: error }, 'an e-mail could not be written')
    return 'retry'
  }
}
