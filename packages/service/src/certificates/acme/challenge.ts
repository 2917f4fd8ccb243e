import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { announceHost } from '@prepaint/postgres/announce.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** http-01: RFC 8555, section 8.3. tls-alpn-01: RFC 8737. */
export type ChallengeKind = 'http-01' | 'tls-alpn-01'

export type Challenge = { kind: ChallengeKind; token: string; keyAuthorization: string }

/** After it, challenges that a killed node left behind are not served. No CA takes this long. */
const LIFETIME_SECONDS = 600

export const CHALLENGE_PREFIX = '/.well-known/acme-challenge/'

/** All nodes serve the challenge from the commit on. It replaces an earlier one of its kind. */
export async function publishChallenge(
  db: Queryable,
  domain: { id: DomainId; name: DomainName },
  { kind, token, keyAuthorization }: Challenge,
): Promise<void> {
  await db.query(
    `insert into acme_challenge (domain_id, kind, token, key_authorization, expires_at)
     values ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))
     on conflict (domain_id, kind) do update set
       token = excluded.token, key_authorization = excluded.key_authorization, expires_at = excluded.expires_at`,
    [domain.id, kind, token, keyAuthorization, LIFETIME_SECONDS],
  )
  // Nodes cache only the TLS challenge; the HTTP one is read on request.
  if (kind === 'tls-alpn-01') await announceHost(db, domain.name)
}

export async function withdrawChallenges(
  db: Queryable,
  domain: { id: DomainId; name: DomainName },
): Promise<void> {
  const { rows } = await db.query<{ kind: ChallengeKind }>(
    'delete from acme_challenge where domain_id = $1 returning kind',
    [domain.id],
  )
  if (rows.some(({ kind }) => kind === 'tls-alpn-01')) await announceHost(db, domain.name)
}

/** The response to `CHALLENGE_PREFIX` + token; null: unknown. */
export async function findHttpChallenge(db: Queryable, host: string, token: string): Promise<string | null> {
  const { rows } = await db.query<{ key_authorization: string }>({
    name: 'http-challenge',
    text: `select c.key_authorization
             from domain d join acme_challenge c on c.domain_id = d.id and c.kind = 'http-01'
            where d.custom_domain = $1 and c.token = $2 and c.expires_at > clock_timestamp()`,
    values: [host, token],
  })
  return rows[0]?.key_authorization ?? null
}
