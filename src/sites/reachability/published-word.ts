import { randomBytes } from 'node:crypto'

import type { Queryable } from '../../db/transaction.ts'
import type { AccountId, DomainName } from '../../ids.ts'

/** Only this fleet can answer `word` at `path` under the domain's name. */
export type ReachWord = { path: string; word: string }

/** The path of ACME challenges: proxies in front of an edge let it through. */
const PREFIX = '/.well-known/acme-challenge/'
const KEPT_SECONDS = 60

/** null: the account has no such domain. */
export async function publishWord(
  db: Queryable,
  account: AccountId,
  name: DomainName,
): Promise<ReachWord | null> {
  const token = randomBytes(24).toString('base64url')
  const word = randomBytes(24).toString('base64url')
  const { rowCount } = await db.query(
    `insert into reach_word (domain_id, token, word, expires_at)
     select id, $3, $4, clock_timestamp() + make_interval(secs => $5) from domain
      where account_id = $1 and custom_domain = $2
     on conflict (domain_id) do update set
       token = excluded.token, word = excluded.word, expires_at = excluded.expires_at`,
    [account, name, token, word, KEPT_SECONDS],
  )
  return rowCount === 0 ? null : { path: PREFIX + token, word }
}

export async function findWord(db: Queryable, host: string, token: string): Promise<string | null> {
  const { rows } = await db.query<{ word: string }>({
    name: 'reach-word',
    text: `select w.word from domain d join reach_word w on w.domain_id = d.id
            where d.custom_domain = $1 and w.token = $2 and w.expires_at > clock_timestamp()`,
    values: [host, token],
  })
  return rows[0]?.word ?? null
}
