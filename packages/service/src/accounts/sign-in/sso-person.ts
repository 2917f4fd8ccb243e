/** The person whom the provider of single sign-on vouches for. */
import type { PersonId } from '@prepaint/contract/ids.ts'
import type { Details } from '@prepaint/postgres/audit'
import { actAs, whoActs } from '@prepaint/postgres/audit/acting.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { changeOperator, createPerson, findPersonOf, lockPerson } from '../persons.ts'
import { proveAddress } from './proof.ts'
import { dropFactors } from './second-factor.ts'
import { endSessions, recordOfPerson } from './sessions.ts'
import type { SsoClaims, SsoSettings } from './single-sign-on.ts'

/** Returns the person whom the provider knows by this issuer and subject, or null. */
export async function findSsoPerson(
  db: Queryable,
  { issuer, subject }: Pick<SsoClaims, 'issuer' | 'subject'>,
): Promise<PersonId | null> {
  const { rows } = await db.query<{ person: PersonId }>(
    'select person_id as person from sso_identity where issuer = $1 and subject = $2',
    [issuer, subject],
  )
  return rows[0]?.person ?? null
}

/**
 * Why a sign-in at the provider is nobody's: it has not verified the address of a person that is new to it, or the person of the
 * address has signed in with another login of the provider.
 */
type NoSsoPerson = 'not-verified' | 'other-login'

/**
 * Returns the person who has signed in at the provider: first the one of the address, whom it knows by issuer and subject
 * afterwards. Makes one for a new address, in no account. Sets whether it is an operator, if a group says so.
 */
export async function takeSsoPerson(
  pool: pg.Pool,
  claims: SsoClaims,
  { name, operatorGroup }: Pick<SsoSettings, 'name' | 'operatorGroup'>,
  nowMs: number,
): Promise<PersonId | NoSsoPerson> {
  const acting = { ...whoActs(), actor: { kind: 'sso', id: null, name }, way: 'sso' } as const
  return actAs(acting, () =>
    transaction(pool, async (client) => {
      const person = (await findSsoPerson(client, claims)) ?? (await linkPerson(client, claims, nowMs))
      if (typeof person === 'string') return person
      // Deleted just now.
      if ((await lockPerson(client, person)) === null) return 'not-verified'
      await client.query('update sso_identity set last_used_at = $3 where issuer = $1 and subject = $2', [
        claims.issuer,
        claims.subject,
        new Date(nowMs),
      ])
      if (operatorGroup !== null) {
        await changeOperator(client, person, claims.groups.includes(operatorGroup))
      }
      return person
    }),
  )
}

/** Once for each person: an address that the provider gives to another of its users stays with the first one. */
async function linkPerson(
  client: Queryable,
  { issuer, subject, email }: SsoClaims,
  nowMs: number,
): Promise<PersonId | NoSsoPerson> {
  if (email === null) return 'not-verified'
  const person =
    (await findPersonOf(client, email)) ??
    (await createPerson(client, { email, passwordHash: null })) ??
    // Another sign-in has just made it.
    (await findPersonOf(client, email))
  if (person === null) return 'not-verified'
  await lockPerson(client, person)
  const { rowCount } = await client.query(
    'select from sso_identity where person_id = $1 and issuer = $2 and subject <> $3',
    [person, issuer, subject],
  )
  if (rowCount !== 0) return 'other-login'
  if (await proveAddress(client, person)) await dropPassword(client, person)
  await client.query(
    `insert into sso_identity (issuer, subject, person_id, created_at, last_used_at) values ($1, $2, $3, $4, $4)
     on conflict (issuer, subject) do nothing`,
    [issuer, subject, person, new Date(nowMs)],
  )
  return person
}

/**
 * The operator says that the person's login at the provider is another one from now on: the next sign-in with the address is the
 * person's. What the person of before knows is dropped, because the address may belong to somebody else.
 */
export async function forgetSsoLogin(pool: pg.Pool, person: PersonId): Promise<void> {
  await transaction(pool, async (client) => {
    await lockPerson(client, person)
    await client.query('delete from sso_identity where person_id = $1', [person])
    await dropFactors(client, person)
    await client.query('delete from email_change where person_id = $1', [person])
    await client.query(`delete from link where kind = 'reset' and person_id = $1`, [person])
    await dropPassword(client, person, { single_sign_on: 'forgotten' })
  })
}

/** Another may know it. */
async function dropPassword(client: Queryable, person: PersonId, details: Details = {}): Promise<void> {
  await client.query('update person set password_hash = null where id = $1', [person])
  await recordOfPerson(client, person, { action: 'person.password_changed', details })
  await endSessions(client, person)
}
