import type { AccountId, DomainName, PersonId } from '@prepaint/contract/ids.ts'
import { askTask, type Task, type TaskKind } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import type { Mail, MailSender } from '../../mail/mailer.ts'
import { writeProofLost, writeProofsAsked } from '../../mail/notice.ts'

const LETTER_TASK = 'proof-letter'
/** With the usual pauses this is a day. Then a letter is given up. */
const MOST_TRIES = 150

/** `lost`: the proof of a domain is there no more. `asked`: existing domains must be proven until the deadline. */
type ProofNews =
  | { what: 'lost'; domain: DomainName }
  | { what: 'asked'; domains: readonly DomainName[]; deadlineMs: number }

type Payload = ProofNews & { person: PersonId }

/**
 * Asks for a letter to each owner of the account. Call it in the transaction of what it tells, so that no letter is lost with a
 * node. `about`: of several letters about the same that wait, one is sent.
 */
export async function askProofLetters(
  client: Queryable,
  { account, about }: { account: AccountId; about: string },
  news: ProofNews,
): Promise<void> {
  const { rows } = await client.query<{ person: PersonId }>(
    `select person_id as person from member where account_id = $1 and role = 'owner' order by person_id`,
    [account],
  )
  for (const { person } of rows) {
    const payload: Payload = { ...news, person }
    await askTask(client, { kind: LETTER_TASK, key: `${about} ${person}`, accountId: account, payload })
  }
}

/** Tells owners by e-mail, if it is configured, what became of the proofs of their names. */
export class ProofLetters implements TaskKind {
  readonly name = LETTER_TASK
  readonly slots = 4
  readonly perAccount = 2
  readonly faultMessage = 'an owner could not be told of the proof of a domain; trying again'
  readonly subjects = `select '' as key, 0 as account_id, now() as due_at where false`
  readonly #pool: pg.Pool
  readonly #mailer: MailSender | null
  readonly #publicUrl: string
  readonly #log: Log

  constructor(pool: pg.Pool, mailer: MailSender | null, publicUrl: string, log: Log) {
    this.#pool = pool
    this.#mailer = mailer
    this.#publicUrl = publicUrl
    this.#log = log
  }

  async run({ accountId, payload, failures }: Task): Promise<null> {
    const { person, ...news } = payload as Payload
    if (news.what === 'lost') this.#log.warn({ domain: news.domain }, 'the proof of a domain is lost')
    if (this.#mailer === null) return null
    const to = await this.#addressOf(accountId as AccountId, person)
    if (to === null) return null
    if ((await this.#mailer.send(this.#write(to, news))) !== 'failed') return null
    if (failures + 1 < MOST_TRIES) throw new Error('the mail server did not take the letter')
    this.#log.error({ account: accountId }, 'an owner was not told of the proof of a domain')
    return null
  }

  /** Returns null if the person is no owner any more. */
  async #addressOf(account: AccountId, person: PersonId): Promise<string | null> {
    const { rows } = await this.#pool.query<{ email: string }>(
      `select p.email from member m join person p on p.id = m.person_id
        where m.account_id = $1 and m.person_id = $2 and m.role = 'owner'`,
      [account, person],
    )
    return rows[0]?.email ?? null
  }

  #write(to: string, news: ProofNews): Mail {
    const url = `${this.#publicUrl}/domains`
    if (news.what === 'asked') return writeProofsAsked({ to, url, ...news })
    return writeProofLost({ to, domain: news.domain, url: `${url}/${news.domain}` })
  }
}
