import { randomBytes } from 'node:crypto'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** Only this fleet can answer `answer` at `path` under the domain's name. */
export type PublishedAnswer = { path: string; answer: string }

/** The path of ACME challenges: proxies in front of an edge let it through. */
const PREFIX = '/.well-known/acme-challenge/'
const KEPT_SECONDS = 60

/** Publishes a new answer for a minute. Returns null if the account has no such domain. */
export async function publishAnswer(
  db: Queryable,
  account: AccountId,
  name: DomainName,
): Promise<PublishedAnswer | null> {
  const token = randomBytes(24).toString('base64url')
  const answer = randomBytes(24).toString('base64url')
  const { rowCount } = await db.query(
    `insert into reachability_check (domain_id, token, answer, expires_at)
     select id, $3, $4, clock_timestamp() + make_interval(secs => $5) from domain
      where account_id = $1 and custom_domain = $2
     on conflict (domain_id) do update set
       token = excluded.token, answer = excluded.answer, expires_at = excluded.expires_at`,
    [account, name, token, answer, KEPT_SECONDS],
  )
  return rowCount === 0 ? null : { path: PREFIX + token, answer }
}

/** Returns null if no such answer is published now. */
export async function findAnswer(db: Queryable, host: string, token: string): Promise<string | null> {
  const { rows } = await db.query<{ answer: string }>({
    name: 'reachability-answer',
    text: `select c.answer from domain d join reachability_check c on c.domain_id = d.id
            where d.custom_domain = $1 and c.token = $2 and c.expires_at > clock_timestamp()`,
    values: [host, token],
  })
  return rows[0]?.answer ?? null
}
