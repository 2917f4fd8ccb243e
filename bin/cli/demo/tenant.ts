import type pg from 'pg'

import { createAccount, findAccount } from '../../../src/accounts/accounts.ts'
import { createKey, listKeys, revokeKey } from '../../../src/accounts/keys.ts'
import { DEFAULT_PLANS } from '../../../src/accounts/plans.ts'
import { databaseNow, transaction } from '../../../src/db/transaction.ts'
import { AppError } from '../../../src/errors.ts'
import { createDomain, updateDomain } from '../../../src/sites/domain-changes.ts'
import { parseDomainName } from '../../../src/sites/domain-name.ts'
import { findOwnedDomain } from '../../../src/sites/domains.ts'
import { purgePages } from '../../../src/store/purge.ts'

const EMAIL = 'demo@shop.example'
const PLAN = 'agency_plus'

/** A name that browsers and curl lead to this machine by themselves, so that the shop can also be looked at. */
export const DEMO_DOMAIN = 'shop.localhost'

/**
 * The demo's account, its domain in front of the shop at `originUrl`, and a
 * new key. What an earlier run left is used again: its keys end, its stored
 * pages go, so that the first request is a miss.
 */
export async function prepareTenant(pool: pg.Pool, originUrl: string): Promise<{ key: string }> {
  const nowMs = (await databaseNow(pool)).getTime()
  const view = { plans: DEFAULT_PLANS, nowMs }
  const { id: account } = await accountOfDemo(pool)

  const parsed = parseDomainName(DEMO_DOMAIN)
  if (!parsed.ok) throw new Error(`${DEMO_DOMAIN} ${parsed.reason}`)
  const known = await findOwnedDomain(pool, account, parsed.name)
  if (known === null) {
    await createDomain(pool, account, { name: parsed.name, originUrl }, view)
  } else {
    await updateDomain(pool, account, parsed.name, { originUrl, isActive: true }, view)
    await transaction(pool, (client) => purgePages(client, known.id, { kind: 'all' }))
  }

  for (const key of await listKeys(pool, account, nowMs)) {
    if (key.state === 'active') await revokeKey(pool, account, key.id, nowMs)
  }
  return createKey(pool, account, { name: 'demo', expiresAt: null }, view)
}

async function accountOfDemo(pool: pg.Pool) {
  try {
    return await createAccount(pool, DEFAULT_PLANS, { email: EMAIL, plan: PLAN, password: null })
  } catch (error) {
    if (error instanceof AppError && error.code === 'account_exists') return findAccount(pool, EMAIL)
    throw error
  }
}
