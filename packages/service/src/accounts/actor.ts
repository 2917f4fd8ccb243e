import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { type Action, actionRow, hasRole, type Role } from '@prepaint/contract/roles.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** Who changes members, as the request read it. `member` is null for the command line, which acts for the owners. */
export type Actor = { member: number; role: Role } | { member: null; role: 'owner' }

/** Who makes a change: a member, an API key, or nobody whose rights could have ended: the command line, or the system. */
export type Changer = Actor | { key: number } | null

/**
 * Reads the actor again. A request can wait for its body after its access was checked; meanwhile the member may have been
 * removed, or its role lowered. The caller has locked the account. Throws `account_not_found` and `role_forbidden`.
 */
export async function actorNow(
  client: Queryable,
  account: AccountId,
  actor: Actor,
  action: Action,
): Promise<Actor> {
  if (actor.member === null) return actor
  return { member: actor.member, role: await roleNow(client, account, actor.member, action) }
}

/** Returns the role of a member who may do the action. The caller has locked the account. Throws as `actorNow`. */
export async function roleNow(
  client: Queryable,
  account: AccountId,
  member: number,
  action: Action,
): Promise<Role> {
  const { rows } = await client.query<{ role: Role; isSuspended: boolean }>(
    `select role, ${IS_SUSPENDED} from member where account_id = $1 and id = $2`,
    [account, member],
  )
  if (rows[0] === undefined) throw new AppError('account_not_found')
  const { role, isSuspended } = rows[0]
  if (isSuspended) throw new AppError('account_suspended')
  checkRole(role, action)
  return role
}

const IS_SUSPENDED = '(select suspended_at is not null from account where id = $1) as "isSuspended"'

function checkRole(role: Role, action: Action): void {
  const { role: needs } = actionRow(action)
  if (!hasRole(role, needs)) throw new AppError('role_forbidden', { fields: { role, needs } })
}

/**
 * As `actorNow`, also for API keys, and locks the row of the member or key instead of the account: until the transaction ends, the
 * member is neither removed nor changed, and the key is not revoked. Every change that lasts asks it, in its transaction. Returns
 * the domains that the member or key is limited to by now, or null for all. Call it behind a lock of the account, and before one of
 * a domain. Throws `account_not_found`, `role_forbidden`, `role_limited`, for keys `invalid_api_key` and `key_limited`, and
 * `account_suspended`.
 */
export async function rightsNow(
  client: Queryable,
  account: AccountId,
  by: Changer,
  action: Action,
): Promise<readonly DomainId[] | null> {
  if (by === null) return null
  if ('key' in by) return keyNow(client, account, by.key, action)
  if (by.member === null) return null
  const { rows } = await client.query<{ role: Role; domains: DomainId[] | null; isSuspended: boolean }>(
    `select role, domains, ${IS_SUSPENDED} from member where account_id = $1 and id = $2 for share`,
    [account, by.member],
  )
  if (rows[0] === undefined) throw new AppError('account_not_found')
  const { role, domains, isSuspended } = rows[0]
  if (isSuspended) throw new AppError('account_suspended')
  checkRole(role, action)
  if (domains !== null && actionRow(action).isAccountWide === true) throw new AppError('role_limited')
  return domains
}

/** The rights of a key never change, and its request has checked them. */
async function keyNow(
  client: Queryable,
  account: AccountId,
  key: number,
  action: Action,
): Promise<readonly DomainId[] | null> {
  const { rows } = await client.query<{ domains: DomainId[] | null; isSuspended: boolean }>(
    `select domains, ${IS_SUSPENDED} from api_key
      where account_id = $1 and id = $2 and revoked_at is null for share`,
    [account, key],
  )
  if (rows[0] === undefined) throw new AppError('invalid_api_key')
  const { domains, isSuspended } = rows[0]
  if (isSuspended) throw new AppError('account_suspended')
  if (domains !== null && actionRow(action).isAccountWide === true) throw new AppError('key_limited')
  return domains
}

/** As `rightsNow`, for a change of one domain. Throws also `domain_not_found`, if it is out of reach by now. */
export async function domainRightsNow(
  client: Queryable,
  account: AccountId,
  { by, domain }: { by: Changer; domain: DomainId },
  action: Action,
): Promise<void> {
  checkReach(await rightsNow(client, account, by, action), domain)
}

/** Throws `domain_not_found` unless the domain is among those that `rightsNow` has returned. */
export function checkReach(domains: readonly DomainId[] | null, domain: DomainId): void {
  if (domains !== null && !domains.includes(domain)) throw new AppError('domain_not_found')
}

/** Returns the domains that the actor is limited to by now, or null for all. Call it behind `actorNow`. */
export async function domainsNow(
  client: Queryable,
  account: AccountId,
  actor: Actor,
): Promise<readonly DomainId[] | null> {
  if (actor.member === null) return null
  const { rows } = await client.query<{ domains: DomainId[] | null }>(
    'select domains from member where account_id = $1 and id = $2',
    [account, actor.member],
  )
  return rows[0]?.domains ?? null
}

/** Throws `role_forbidden` unless the actor may touch owners and name the role `owner`. */
export function checkOwnerRight(actor: Actor, role: Role | undefined): void {
  if (role !== 'owner' || actor.role === 'owner') return
  throw new AppError('role_forbidden', { fields: { role: actor.role, needs: 'owner' } })
}
