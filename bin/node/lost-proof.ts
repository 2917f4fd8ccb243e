import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { ownersOf } from '@prepaint/service/accounts/account-deletion.ts'
import type { MailSender } from '@prepaint/service/mail/mailer.ts'
import { writeProofLost } from '@prepaint/service/mail/notice.ts'
import type { ProofParts } from '@prepaint/service/sites/proof/domain-proofs.ts'

/** Returns what tells owners that a proof is lost: a letter to each, and a line in the log. */
export function lostProofTeller(
  db: Queryable,
  mailer: MailSender | null,
  publicUrl: string,
  log: Log,
): ProofParts['tellLost'] {
  return async ({ account, name: domain }) => {
    log.warn({ domain }, 'the proof of a domain is lost')
    if (mailer === null) return
    try {
      const url = `${publicUrl}/domains/${domain}`
      const owners = await ownersOf(db, account)
      await Promise.all(owners.map((to) => mailer.send(writeProofLost({ to, domain, url }))))
    } catch (error) {
      log.error({ err: error, domain }, 'owners could not be told that the proof of a domain is lost')
    }
  }
}
