import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { announceHost } from '@prepaint/postgres/announce.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { IS_SERVED } from '../sites/proof/stored-proof.ts'
import { type Certificate, type CertificateFacts, certificateFacts } from './certificate.ts'
import { certificatePurpose, type Vault } from './vault/vault.ts'

/** `acme`: ordered. `own`: supplied by the owner, and not replaced before it ends. */
export type CertificateSource = 'acme' | 'own'

export type ServedCertificate = {
  domain: DomainId
  certificate: { chain: string; keySealed: Buffer; notBeforeMs: number; notAfterMs: number } | null
  challenge: string | null
}

/** What the owner sees of a certificate, without the key. Times are ISO 8601 UTC with milliseconds. */
export type CertificateView = {
  certificate:
    | (CertificateFacts & { source: CertificateSource; not_before: string; not_after: string })
    | null
  /** The next order; unused if ACME is off. */
  order: {
    next_attempt_at: string | null
    failures: number
    last_error: string | null
    last_error_at: string | null
  }
}

/** Finds what is served under a lower-case name. Returns null if that is nothing. */
export async function readServedCertificate(db: Queryable, name: string): Promise<ServedCertificate | null> {
  const { rows } = await db.query<{
    domain_id: DomainId
    chain: string | null
    key_sealed: Buffer
    not_before: Date
    not_after: Date
    challenge: string | null
  }>({
    name: 'served-certificate',
    text: `select d.id as domain_id, c.chain, c.key_sealed, c.not_before, c.not_after,
                  h.key_authorization as challenge
             from domain d
             left join certificate c on c.domain_id = d.id
             left join acme_challenge h
                    on h.domain_id = d.id and h.kind = 'tls-alpn-01' and h.expires_at > clock_timestamp()
            where d.custom_domain = $1 and (c.chain is not null or h.token is not null) and ${IS_SERVED}`,
    values: [name],
  })
  const row = rows[0]
  if (row === undefined) return null
  return {
    domain: row.domain_id,
    certificate:
      row.chain === null
        ? null
        : {
            chain: row.chain,
            keySealed: row.key_sealed,
            notBeforeMs: row.not_before.getTime(),
            notAfterMs: row.not_after.getTime(),
          },
    challenge: row.challenge,
  }
}

/** Nodes use it from the commit on. `nextAtMs`: the next check; `renewAtMs`: the next order. */
export async function storeCertificate(
  client: Queryable,
  vault: Vault,
  domain: { id: DomainId; name: DomainName },
  source: CertificateSource,
  { chain, key, notBeforeMs, notAfterMs }: Certificate,
  times: { nextAtMs: number; renewAtMs: number },
): Promise<void> {
  const sealed = await vault.seal(certificatePurpose(domain.id), key)
  await client.query(
    `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (domain_id) do update set source = excluded.source, chain = excluded.chain,
       key_sealed = excluded.key_sealed, not_before = excluded.not_before, not_after = excluded.not_after,
       stored_at = now()`,
    [domain.id, source, chain, sealed, new Date(notBeforeMs), new Date(notAfterMs)],
  )
  await client.query(
    `update certificate_order set next_at = $2, renew_at = $3, failures = 0, reason = null, failed_at = null,
            lease = null, lease_until = null
      where domain_id = $1`,
    [domain.id, new Date(times.nextAtMs), new Date(times.renewAtMs)],
  )
  if (source === 'acme') {
    await client.query(
      `select record_event(account_id, id, null, 'domain.certificate_issued', $2,
                           json_build_object('domain', custom_domain, 'ends_at', iso_time($3)))
         from domain where id = $1`,
      [domain.id, `certificate ${domain.id} ${notBeforeMs} ${notAfterMs}`, new Date(notAfterMs)],
    )
  }
  await announceHost(client, domain.name)
}

/** Returns whether there was one. Another may be ordered from `nowMs` on. */
export async function removeCertificate(
  client: Queryable,
  domain: { id: DomainId; name: DomainName },
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await client.query('delete from certificate where domain_id = $1', [domain.id])
  await client.query(
    `update certificate_order set next_at = $2, renew_at = null, failures = 0, reason = null, failed_at = null,
            lease = null, lease_until = null
      where domain_id = $1`,
    [domain.id, new Date(nowMs)],
  )
  await announceHost(client, domain.name)
  return (rowCount ?? 0) > 0
}

export async function viewCertificate(
  db: Queryable,
  account: AccountId,
  name: DomainName,
): Promise<CertificateView | null> {
  const { rows } = await db.query<{
    source: CertificateSource | null
    chain: string
    not_before: Date
    not_after: Date
    next_at: Date | null
    failures: number | null
    reason: string | null
    failed_at: Date | null
  }>(
    `select c.source, c.chain, c.not_before, c.not_after, o.next_at, o.failures, o.reason, o.failed_at
       from domain d
       left join certificate c on c.domain_id = d.id
       left join certificate_order o on o.domain_id = d.id
      where d.account_id = $1 and d.custom_domain = $2`,
    [account, name],
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    certificate:
      row.source === null
        ? null
        : {
            source: row.source,
            ...certificateFacts(row.chain),
            not_before: row.not_before.toISOString(),
            not_after: row.not_after.toISOString(),
          },
    order: {
      next_attempt_at: row.next_at?.toISOString() ?? null,
      failures: row.failures ?? 0,
      last_error: row.reason,
      last_error_at: row.failed_at?.toISOString() ?? null,
    },
  }
}
