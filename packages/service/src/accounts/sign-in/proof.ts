import type { PersonId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { markProven } from '../persons.ts'
import { dropFactors } from './second-factor.ts'

/**
 * The person has shown to have its address. The first time, drops the ways to enter that another may have prepared for it, but for
 * the password and the sessions, and returns true. Call in a transaction.
 */
export async function proveAddress(client: Queryable, person: PersonId): Promise<boolean> {
  if (!(await markProven(client, person))) return false
  await dropFactors(client, person)
  await client.query('delete from email_change where person_id = $1', [person])
  return true
}
