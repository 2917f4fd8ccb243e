import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { announceHost } from '@prepaint/postgres/announce.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { CertificateSource } from '../stored-certificate.ts'

export type DeletedSecrets = { ordered: DomainName[]; supplied: DomainName[] }

/** After losing a master key: deletes its secrets and id. A configured CA is asked again from `nowMs` on. */
export async function deleteSealedSecrets(pool: pg.Pool, nowMs: number): Promise<DeletedSecrets> {
  return retriedTransaction(pool, async (client) => {
    // Same lock order as storing a certificate, to avoid deadlocks.
    await client.query('select from certificate_order order by domain_id for update')
    await client.query('select from master_key for update')
    const { rows } = await client.query<{ id: DomainId; name: DomainName; source: CertificateSource }>(
      `delete from certificate c using domain d where d.id = c.domain_id
       returning d.id, d.custom_domain as name, c.source`,
    )
    await client.query(
      `update certificate_order set next_at = $1, renew_at = null, failures = 0, reason = null, failed_at = null,
              lease = null, lease_until = null
        where domain_id = any ($2::integer[])`,
      [new Date(nowMs), rows.map(({ id }) => id)],
    )
    for (const table of ['acme_account', 'origin_header', 'master_key']) {
      await client.query(`delete from ${table}`)
    }
    // Receivers could not verify deliveries: their owners add them again.
    await client.query(`delete from channel where format <> 'mail'`)
    await client.query('update channel set key_sealed = null')
    // A second factor stays required: its person signs in with a recovery code and sets it up anew.
    await client.query('update second_factor set key_sealed = null')
    for (const { name } of rows) await announceHost(client, name)
    const of = (source: CertificateSource) =>
      rows.flatMap((row) => (row.source === source ? [row.name] : [])).sort()
    return { ordered: of('acme'), supplied: of('own') }
  })
}
