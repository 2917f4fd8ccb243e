import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { findOwnedDomain, type OwnedDomain } from '@prepaint/service/sites/domains.ts'

/** Throws `domain_not_found` for an invalid name. */
export function domainNameFrom(raw: string): DomainName {
  const parsed = parseDomainName(raw)
  if (!parsed.ok) throw new AppError('domain_not_found')
  return parsed.name
}

/** Throws `domain_not_found` unless the account owns it. */
export async function ownedDomain(db: Queryable, account: AccountId, raw: string): Promise<OwnedDomain> {
  const domain = await findOwnedDomain(db, account, domainNameFrom(raw))
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}
