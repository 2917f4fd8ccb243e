import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import { type Finding, isSoft404, type Look } from './soft-404.ts'
import { readStatement } from './statement.ts'

/** Why a page that was rendered is not stored, nor takes the place of the last good copy. */
export type Soft404 = { outcome: 'soft-404'; detail: string }

/** Compares a page with what its site shows where there is none. Inside the transaction of `complete`. */
export function createSoft404Judge() {
  const read = readStatement('read-probe')
  return async (client: Queryable, domain: DomainId, look: Look | null): Promise<Soft404 | null> => {
    if (look === null) return null
    const { rows } = await client.query<{ finding: Finding }>({ ...read, values: [domain] })
    const finding = rows[0]?.finding
    if (finding === undefined || !isSoft404(finding, look)) return null
    return { outcome: 'soft-404', detail: 'it reads like a page that does not exist, with status 200' }
  }
}
