import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { ownersOf } from '@prepaint/service/accounts/account-deletion.ts'
import type { Mail, MailSender } from '@prepaint/service/mail/mailer.ts'
import { writeProofLost, writeProofsAsked } from '@prepaint/service/mail/notice.ts'
import type { ProvenDomain } from '@prepaint/service/sites/proof/stored-proof.ts'

/** Tells owners by e-mail, if it is configured, what became of the proofs of their names. No method rejects. */
export class ProofLetters {
  readonly #db: Queryable
  readonly #mailer: MailSender | null
  readonly #publicUrl: string
  readonly #log: Log

  constructor(db: Queryable, mailer: MailSender | null, publicUrl: string, log: Log) {
    this.#db = db
    this.#mailer = mailer
    this.#publicUrl = publicUrl
    this.#log = log
  }

  /** The proof of a domain is lost. */
  async tellLost({ account, name: domain }: ProvenDomain): Promise<void> {
    this.#log.warn({ domain }, 'the proof of a domain is lost')
    const url = `${this.#publicUrl}/domains/${domain}`
    await this.#send(account, (to) => writeProofLost({ to, domain, url }))
  }

  /** Domains of before must be proven until the deadline. */
  async tellAsked(account: AccountId, domains: readonly DomainName[], deadlineMs: number): Promise<void> {
    const url = `${this.#publicUrl}/domains`
    await this.#send(account, (to) => writeProofsAsked({ to, domains, deadlineMs, url }))
  }

  async #send(account: AccountId, write: (to: string) => Mail): Promise<void> {
    const mailer = this.#mailer
    if (mailer === null) return
    try {
      const owners = await ownersOf(this.#db, account)
      await Promise.all(owners.map((to) => mailer.send(write(to))))
    } catch (error) {
      this.#log.error({ err: error, account }, 'owners could not be told of the proofs of their domains')
    }
  }
}
