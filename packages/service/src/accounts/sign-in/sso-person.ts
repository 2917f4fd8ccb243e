/** The person whom the provider of single sign-on vouches for. */
import type { PersonId } from '@prepaint/contract/ids.ts'
import { actAs, whoActs } from '@prepaint/postgres/audit/acting.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { changeOperator, createPerson, findPersonOf, lockPerson } from '../persons.ts'
import { proveAddress } from './proof.ts'
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
 * Returns the person who has signed in at the provider: first the one of the address, whom it knows by issuer and subject
 * afterwards. Makes one for a new address, in no account. Sets whether it is an operator, if a group says so. Returns null if the
 * provider has not verified the address of a person that is new to it.
 */
export async function takeSsoPerson(
  pool: pg.Pool,
  claims: SsoClaims,
  { name, operatorGroup }: Pick<SsoSettings, 'name' | 'operatorGroup'>,
  nowMs: number,
): Promise<PersonId | null> {
  const acting = { ...whoActs(), actor: { kind: 'sso', id: null, name }, way: 'sso' } as const
  return actAs(acting, () =>
    transaction(pool, async (client) => {
      const person = (await findSsoPerson(client, claims)) ?? (await linkPerson(client, claims, nowMs))
      if (person === null || (await lockPerson(client, person)) === null) return null
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

/** Returns null if the address is not verified. */
async function linkPerson(
  client: Queryable,
  { issuer, subject, email }: SsoClaims,
  nowMs: number,
): Promise<PersonId | null> {
  if (email === null) return null
  const person =
    (await findPersonOf(client, email)) ??
    (await createPerson(client, { email, passwordHash: null })) ??
    // Another sign-in has just made it.
    (await findPersonOf(client, email))
  if (person === null) return null
  await lockPerson(client, person)
  if (await proveAddress(client, person)) await dropPassword(client, person)
  const { rowCount } = await client.query(
    'delete from sso_identity where person_id = $1 and issuer = $2 and subject <> $3',
    [person, issuer, subject],
  )
  // The provider gave the address to another of its users.
  if (rowCount !== 0) await endSessions(client, person)
  await client.query(
    `insert into sso_identity (issuer, subject, person_id, created_at, last_used_at) values ($1, $2, $3, $4, $4)
     on conflict (issuer, subject) do nothing`,
    [issuer, subject, person, new Date(nowMs)],
  )
  return person
}

/** Another may have chosen it, before the address was proven. */
async function dropPassword(client: Queryable, person: PersonId): Promise<void> {
  await client.query('update person set password_hash = null where id = $1', [person])
  await recordOfPerson(client, person, { action: 'person.password_changed' })
  await endSessions(client, person)
}
