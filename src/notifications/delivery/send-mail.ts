import type pg from 'pg'
import type { Vault } from '../../certificates/vault/vault.ts'
import type { Log } from '../../log.ts'
import type { Mailer } from '../../mail/mailer.ts'
import type { Incident } from '../kinds.ts'
import {
  confirmationLetter,
  incidentLetter,
  type Letter,
  reportLetter,
  switchedOffLetter,
} from './letters.ts'
import { confirmToken, secretOf, unsubscribeToken } from './links.ts'
import type { Report } from './report.ts'
import type { ClaimedRow, SendMail } from './sender.ts'

type Recipient = { email: string; state: string; confirm_round: number }

/** One e-mail for the claimed rows of one recipient. Never rejects. */
export function createSendMail(deps: {
  pool: pg.Pool
  vault: Vault
  mailer: Pick<Mailer, 'attempt'>
  publicUrl: string
  log: Log
}): SendMail {
  const { pool, vault, mailer, publicUrl, log } = deps

  return async (claimed) => {
    try {
      const rows = claimed.toSorted((a, b) => Number(a.id) - Number(b.id))
      const [first] = rows
      const id = first!.recipient_id!
      const found = await pool.query<Recipient>(
        'select email, state, confirm_round from recipient where id = $1',
        [id],
      )
      const recipient = found.rows[0]
      const isAsked = first!.type === 'mail.confirmation'
      if (recipient === undefined || (!isAsked && recipient.state !== 'confirmed')) return 'cancelled'
      const secret = await secretOf(pool, vault, id)
      const unsubscribe = `${publicUrl}/unsubscribe/${unsubscribeToken(secret, id)}`
      const confirm = `${publicUrl}/confirm#${confirmToken(secret, id, recipient.confirm_round)}`
      const outcome = await mailer.attempt({
        to: recipient.email,
        ...letterOf(rows, { unsubscribe, confirm, publicUrl }),
        // Made from the event: a repetition after a crash is recognised.
        messageId: `<${first!.event_id}.${id}@${new URL(publicUrl).hostname}>`,
        headers: {
          'List-Unsubscribe': `<${unsubscribe}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        },
      })
      if (outcome === 'refused') {
        await pool.query(`update recipient set state = 'refused' where id = $1 and state <> 'unsubscribed'`, [
          id,
        ])
        return 'failed'
      }
      return outcome === 'sent' ? 'delivered' : 'retry'
    } catch (error) {
      log.warn({ err: error }, 'an e-mail could not be written')
      return 'retry'
    }
  }
}

function letterOf(
  rows: readonly ClaimedRow[],
  urls: { unsubscribe: string; confirm: string; publicUrl: string },
): Letter {
  const [first] = rows
  const data = rows.map(({ body }) => (JSON.parse(body) as { data: Record<string, unknown> }).data)
  switch (first!.type) {
    case 'mail.confirmation':
      return confirmationLetter(urls.confirm, urls.unsubscribe)
    case 'mail.switched_off':
      return switchedOffLetter(String(data[0]!['url']), `${urls.publicUrl}/notifications`, urls.unsubscribe)
    case 'report.weekly': {
      const report = data[0]!['report'] as Report
      return reportLetter(report, `${urls.publicUrl}/report?week=${report.week}`, urls.unsubscribe)
    }
    default:
      return incidentLetter(
        rows.map(({ type }, at) => ({ type, incident: data[at]!['incident'] as Incident })),
        urls.unsubscribe,
      )
  }
}
