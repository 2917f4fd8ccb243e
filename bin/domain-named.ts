import type pg from 'pg'

import { findOwnedDomain, type OwnedDomain } from '../src/accounts/domains.ts'
import { ownerOfDomain } from '../src/accounts/tokens.ts'
import { AppError } from '../src/errors.ts'
import type { DomainName } from '../src/ids.ts'

/** The domain of that name, whoever owns it: the operator acts for its account. Throws `domain_not_found`. */
export async function domainNamed(pool: pg.Pool, name: DomainName): Promise<OwnedDomain> {
  const domain = await findOwnedDomain(pool, await ownerOfDomain(pool, name), name)
  // Deleted between the two looks.
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}
