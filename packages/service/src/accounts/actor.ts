import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { type Action, actionRow, hasRole, type Role } from '@prepaint/contract/roles.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** Who changes members, as the request read it. `member` is null for the command line, which acts for the owners. */
export type Actor = { member: number; role: Role } | { member: null; role: 'owner' }

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
  const { rows } = await client.query<{ role: Role }>(
    'select role from member where account_id = $1 and id = $2',
    [account, member],
  )
  if (rows[0] === undefined) throw new AppError('account_not_found')
  const { role } = rows[0]
  checkRole(role, action)
  return role
}

function checkRole(role: Role, action: Action): void {
  const { role: needs } = actionRow(action)
  if (!hasRole(role, needs)) throw new AppError('role_forbidden', { fields: { role, needs } })
}

/**
 * As `actorNow`, and locks the member's row instead of the account: until the transaction ends, the member is neither removed nor
 * changed. Returns the domains that the member is limited to by now, or null for all. `actor` null: an API key, whose rights the
 * request has checked. Call it behind a lock of the account, and before one of a domain. Throws `account_not_found`,
 * `role_forbidden`, `role_limited`.
 */
export async function rightsNow(
  client: Queryable,
  account: AccountId,
  actor: Actor | null,
  action: Action,
): Promise<readonly DomainId[] | null> {
  if (actor === null || actor.member === null) return null
  const { rows } = await client.query<{ role: Role; domains: DomainId[] | null }>(
    'select role, domains from member where account_id = $1 and id = $2 for share',
    [account, actor.member],
  )
  if (rows[0] === undefined) throw new AppError('account_not_found')
  const { role, domains } = rows[0]
  checkRole(role, action)
  if (domains !== null && actionRow(action).isAccountWide === true) throw new AppError('role_limited')
  return domains
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
