import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, PersonId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { parseEmail } from './email.ts'
import { hashNewPassword } from './sign-in/passwords.ts'
import { recordOfPerson } from './sign-in/sessions.ts'

export type Person = {
  id: PersonId
  email: string
  name: string | null
  is_operator: boolean
  can_sign_in: boolean
  accounts: number
  created_at: string
}

type PersonRow = Omit<Person, 'created_at'> & { created_at: Date }

/** SQL: the provider of single sign-on knows person `p`. */
export const HAS_SSO = `exists (select from sso_identity o where o.person_id = p.id)`

const SELECT = `select p.id, p.email, p.name, p.is_operator, p.password_hash is not null or ${HAS_SSO} as can_sign_in,
  (select count(*)::int from member m where m.person_id = p.id) as accounts, p.created_at from person p`

/**
 * Creates the person of an address (in lower case). A person that exists gets the password only if it has none. Locks the row
 * until the transaction ends. Throws `invalid_field`, and `person_not_proven` if another may have prepared the login.
 */
export async function addPerson(
  client: Queryable,
  { email, password, isOperator = false }: { email: string; password: string | null; isOperator?: boolean },
): Promise<PersonId> {
  const hash = password === null ? null : await hashNewPassword(password, [email])
  const { rows } = await client.query<{ id: PersonId; is_unproven: boolean }>(
    `insert into person as p (email, password_hash, is_operator) values ($1, $2, $3)
     on conflict (email) do update set is_operator = p.is_operator or excluded.is_operator,
       password_hash = coalesce(p.password_hash, excluded.password_hash)
     returning id, is_unproven`,
    [email, hash, isOperator],
  )
  if (rows[0]!.is_unproven) throw new AppError('person_not_proven')
  return rows[0]!.id
}

/**
 * Creates a person with a password. `isUnproven`: by a link that its inviter held, who may have used it. Returns null if the
 * address (in lower case) has one already, which stays as it is.
 */
export async function createPerson(
  client: Queryable,
  {
    email,
    passwordHash,
    isUnproven = false,
  }: { email: string; passwordHash: string | null; isUnproven?: boolean },
): Promise<PersonId | null> {
  const { rows } = await client.query<{ id: PersonId }>(
    `insert into person (email, password_hash, is_unproven) values ($1, $2, $3)
     on conflict (email) do nothing returning id`,
    [email, passwordHash, isUnproven],
  )
  return rows[0]?.id ?? null
}

/** Returns the person of an address (in lower case) whom nobody has proven to have it, or null. */
export async function findUnproven(db: Queryable, email: string): Promise<PersonId | null> {
  const { rows } = await db.query<{ id: PersonId }>(
    'select id from person where email = $1 and is_unproven',
    [email],
  )
  return rows[0]?.id ?? null
}

/** Returns whether the person was not proven before. Locks the row until the transaction ends. */
export async function markProven(client: Queryable, id: PersonId): Promise<boolean> {
  const { rowCount } = await client.query(
    'update person set is_unproven = false where id = $1 and is_unproven',
    [id],
  )
  return rowCount !== 0
}

/**
 * Locks the person's row until the transaction ends: sessions begin, and factors and addresses change, one after another. Returns null
 * if it is gone, or no longer has the password with the hash.
 */
export async function lockPerson(
  client: Queryable,
  id: PersonId,
  passwordHash: string | null = null,
): Promise<PersonId | null> {
  const { rowCount } = await client.query(
    'select from person where id = $1 and ($2::text is null or password_hash = $2) for no key update',
    [id, passwordHash],
  )
  return rowCount === 0 ? null : id
}

/** Returns the person of an address (in lower case), or null. */
export async function findPersonOf(db: Queryable, email: string): Promise<PersonId | null> {
  const { rows } = await db.query<{ id: PersonId }>('select id from person where email = $1', [email])
  return rows[0]?.id ?? null
}

/** Lists all persons by e-mail address. For operators only. */
export async function listPersons(db: Queryable): Promise<Person[]> {
  const { rows } = await db.query<PersonRow>(`${SELECT} order by p.email`)
  return rows.map(toPerson)
}

/** Throws `person_not_found`. For operators only. */
export async function findPersonById(db: Queryable, id: PersonId): Promise<Person> {
  const { rows } = await db.query<PersonRow>(`${SELECT} where p.id = $1::bigint`, [id])
  return found(rows)
}

/** Ignores the address's spelling. Throws `person_not_found`. For operators only. */
export async function findPersonByEmail(db: Queryable, email: string): Promise<Person> {
  const { rows } = await db.query<PersonRow>(`${SELECT} where p.email = $1`, [parseEmail(email) ?? ''])
  return found(rows)
}

/** The person to whom a link to the account goes: its contact, else its first owner. Throws `person_not_found`. For operators only. */
export async function findContact(db: Queryable, account: AccountId): Promise<Person> {
  const { rows } = await db.query<PersonRow>(
    `${SELECT} join member m on m.person_id = p.id join account a on a.id = m.account_id
      where m.account_id = $1::bigint and m.role = 'owner' order by p.email = a.email desc, m.id limit 1`,
    [account],
  )
  return found(rows)
}

/** Throws `person_not_found`, and `person_not_proven` if another may have prepared the login. For operators only. */
export async function setOperator(db: Queryable, id: PersonId, isOperator: boolean): Promise<void> {
  const { rowCount } = await db.query(
    'update person set is_operator = $2 where id = $1::bigint and not ($2 and is_unproven)',
    [id, isOperator],
  )
  if (rowCount !== 0) return
  await findPersonById(db, id)
  throw new AppError('person_not_proven')
}

/** As `setOperator`, recorded in the accounts that the person is in. Writes nothing if it is so already. Call in a transaction. */
export async function changeOperator(client: Queryable, id: PersonId, isOperator: boolean): Promise<void> {
  const { rows } = await client.query<{ old: boolean }>(
    'select is_operator as old from person where id = $1::bigint for no key update',
    [id],
  )
  if (rows[0] === undefined) throw new AppError('person_not_found')
  const { old } = rows[0]
  if (old === isOperator) return
  await setOperator(client, id, isOperator)
  const details = { is_operator: { old, new: isOperator } }
  await recordOfPerson(client, id, { action: 'person.operator_changed', details })
}

/** Changes what a person says of itself; undefined stays. */
export async function updatePerson(
  db: Queryable,
  id: PersonId,
  { name, locale }: { name?: string | null | undefined; locale?: string | null | undefined },
): Promise<void> {
  await db.query(
    `update person set name = case when $2 then $3 else name end, locale = case when $4 then $5 else locale end
      where id = $1`,
    [id, name !== undefined, name ?? null, locale !== undefined, locale ?? null],
  )
}

function found(rows: readonly PersonRow[]): Person {
  if (rows[0] === undefined) throw new AppError('person_not_found')
  return toPerson(rows[0])
}

function toPerson(row: PersonRow): Person {
  return { ...row, created_at: row.created_at.toISOString() }
}
