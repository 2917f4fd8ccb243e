import { createHash, randomBytes } from 'node:crypto'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'

const MARK_BYTES = 16
/** Longer than a check takes. */
const VALID_SECONDS = 120
const KEPT_DAYS = 1

/** Makes a mark that all nodes know, for the requests of one check. */
export async function publishMark(db: Queryable): Promise<string> {
  const mark = randomBytes(MARK_BYTES).toString('hex')
  await db.query(
    `insert into domain_proof_mark (mark_hash, expires_at)
     values ($1, clock_timestamp() + make_interval(secs => $2))`,
    [hashOf(mark), VALID_SECONDS],
  )
  return mark
}

/** Notes that an edge of ours received a request with the mark. Returns false if it is of no check. */
export async function receiveMark(db: Queryable, mark: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'proof-mark',
    text: `update domain_proof_mark set is_received = true where mark_hash = $1 and expires_at > clock_timestamp()`,
    values: [hashOf(mark)],
  })
  return rowCount === 1
}

/** Ends a check. Returns whether an edge of ours received one of its requests. */
export async function withdrawMark(db: Queryable, mark: string): Promise<boolean> {
  const { rows } = await db.query<{ is_received: boolean }>(
    'delete from domain_proof_mark where mark_hash = $1 returning is_received',
    [hashOf(mark)],
  )
  // If it is gone already, one may have come here.
  return rows[0]?.is_received ?? true
}

/** Marks of checks whose node died. */
export function removeOldMarks(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'domain_proof_mark', at: 'expires_at', keptDays: KEPT_DAYS }, steps)
}

function hashOf(mark: string): Buffer {
  return createHash('sha256').update(mark).digest()
}
