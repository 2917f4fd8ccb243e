import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { record, SECRET } from '@prepaint/postgres/audit'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, checkReach, rightsNow } from '../accounts/actor.ts'
import { checkCertificate } from './certificate.ts'
import {
  type CertificateView,
  removeCertificate,
  storeCertificate,
  viewCertificate,
} from './stored-certificate.ts'
import { MasterKeyError } from './vault/master-key.ts'
import type { Vault } from './vault/vault.ts'

/** Ordering resumes when it ends. Throws `domain_not_found`, `invalid_field`, `certificates_unavailable` (no key), and as `rightsNow`. */
export async function supplyCertificate(
  deps: { pool: pg.Pool; vault: Vault },
  account: AccountId,
  name: DomainName,
  supplied: { chain: string; key: string },
  nowMs: number,
  by: Changer = null,
): Promise<CertificateView> {
  const { pool, vault } = deps
  await ownedDomain(pool, account, name, 'read')
  const checked = checkCertificate({ ...supplied, name, nowMs })
  if (!checked.ok) throw invalidField(checked.problem.path, checked.problem.message)
  await admitted(vault)
  const { notAfterMs } = checked.certificate
  await retriedTransaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, 'putCertificate')
    const domain = await ownedDomain(client, account, name, 'lock')
    checkReach(within, domain.id)
    const times = { nextAtMs: notAfterMs, renewAtMs: notAfterMs }
    await storeCertificate(client, vault, domain, 'own', checked.certificate, times)
    const details = { not_after: new Date(notAfterMs).toISOString(), private_key: SECRET }
    await record(client, { account, action: 'certificate.uploaded', domain: name, details })
  })
  return foundCertificate(pool, account, name)
}

export async function foundCertificate(
  db: Queryable,
  account: AccountId,
  name: DomainName,
): Promise<CertificateView> {
  const view = await viewCertificate(db, account, name)
  if (view === null) throw new AppError('domain_not_found')
  return view
}

/** Returns the removed certificate. Throws `domain_not_found`, `certificate_not_found`, and as `rightsNow`. */
export async function withdrawCertificate(
  pool: pg.Pool,
  account: AccountId,
  name: DomainName,
  nowMs: number,
  by: Changer = null,
): Promise<NonNullable<CertificateView['certificate']>> {
  return retriedTransaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, 'deleteCertificate')
    const domain = await ownedDomain(client, account, name, 'lock')
    checkReach(within, domain.id)
    const { certificate } = await foundCertificate(client, account, name)
    if (certificate === null || !(await removeCertificate(client, domain, nowMs))) {
      throw new AppError('certificate_not_found')
    }
    await record(client, { account, action: 'certificate.removed', domain: name })
    return certificate
  })
}

/** `lock`: locks the order's row first, as the end of an order does, to avoid deadlocks. */
async function ownedDomain(
  db: Queryable,
  account: AccountId,
  name: DomainName,
  purpose: 'read' | 'lock',
): Promise<{ id: DomainId; name: DomainName }> {
  const { rows } = await db.query<{ id: DomainId }>(
    `select d.id from domain d join certificate_order o on o.domain_id = d.id
      where d.account_id = $1 and d.custom_domain = $2 ${purpose === 'lock' ? 'for update of o' : ''}`,
    [account, name],
  )
  const id = rows[0]?.id
  if (id === undefined) throw new AppError('domain_not_found')
  return { id, name }
}

async function admitted(vault: Vault): Promise<void> {
  try {
    await vault.admit()
  } catch (cause) {
    if (cause instanceof MasterKeyError) throw new AppError('certificates_unavailable', { cause })
    throw cause
  }
}
