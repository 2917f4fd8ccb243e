import { parseDomainName } from '../accounts/domain-name.ts'
import { findOwnedDomain, type OwnedDomain } from '../accounts/domains.ts'
import type { Queryable } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId, DomainName } from '../ids.ts'

/** The name as a caller wrote it, in its one spelling. What is no name is a domain that nobody has: `domain_not_found`. */
export function domainNameOf(raw: string): DomainName {
  const parsed = parseDomainName(raw)
  if (!parsed.ok) throw new AppError('domain_not_found')
  return parsed.name
}

/** The domain that the caller names, if he owns it; else throws `domain_not_found`. */
export async function ownedDomain(db: Queryable, account: AccountId, raw: string): Promise<OwnedDomain> {
  const domain = await findOwnedDomain(db, account, domainNameOf(raw))
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}
