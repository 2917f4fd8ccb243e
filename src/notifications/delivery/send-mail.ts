import type pg from 'pg'
import type { Vault } from '../../certificates/vault/vault.ts'
import type { Log } from '../../log.ts'
import type { Letter } from '../../mail/letter.ts'
import type { Mailer } from '../../mail/mailer.ts'
import type { Incident } from '../kinds.ts'
import type { ClaimedRow } from './claim.ts'
import { confirmationLetter, incidentLetter, reportLetter, switchedOffLetter } from './letters.ts'
import { linkToken, secretOf } from './links.ts'
import type { Report } from './report.ts'
import type { SendMail } from './sender.ts'

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
      const [{ recipient_id: recipient, type, event_id: event }] = rows as [ClaimedRow]
      const id = recipient!
      const found = await pool.query<{ email: string; state: string; confirm_round: number }>(
        'select email, state, confirm_round from recipient where id = $1',
        [id],
      )
      const [to] = found.rows
      if (to === undefined || (type !== 'mail.confirmation' && to.state !== 'confirmed')) return 'cancelled'
      const secret = await secretOf(pool, vault, id)
      const unsubscribe = `${publicUrl}/unsubscribe/${linkToken(secret, id, null)}`
      const confirm = `${publicUrl}/confirm#${linkToken(secret, id, to.confirm_round)}`
      const outcome = await mailer.attempt({
        to: to.email,
        ...letterOf(rows, { unsubscribe, confirm, publicUrl }),
        // Made from the event: a repetition after a crash is recognised.
        messageId: `<${event}.${id}@${new URL(publicUrl).hostname}>`,
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
}

function letterOf(
  rows: readonly ClaimedRow[],
  { unsubscribe, confirm, publicUrl }: { unsubscribe: string; confirm: string; publicUrl: string },
): Letter {
  type Data = { incident: Incident; report: Report; url: string }
  const events = rows.map(({ type, body }) => ({ type, ...(JSON.parse(body) as { data: Data }).data }))
  const [{ type, report, url }] = events as [(typeof events)[number]]
  switch (type) {
    case 'mail.confirmation':
      return confirmationLetter(confirm, unsubscribe)
    case 'mail.switched_off':
      return switchedOffLetter(url, `${publicUrl}/notifications`, unsubscribe)
    case 'report.weekly':
      return reportLetter(report, `${publicUrl}/report?week=${report.week}`, unsubscribe)
    default:
      return incidentLetter(events, unsubscribe)
  }
}
