import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { announceAccount, announceHost } from '@prepaint/postgres/announce.ts'
import { record } from '@prepaint/postgres/audit'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { NOT_ASKED, type ProofState } from './judge-proof.ts'
import { askProofLetters } from './proof-letters.ts'
import { proofRecords, proofToken } from './proof-records.ts'

/** SQL: whether the domain `d` is served. Its proof is not needed, or it is there, or there is time left. */
export const IS_SERVED = 'not exists (select from domain_proof p where p.domain_id = d.id and not p.served)'

/** The caller has found it through its account. */
export type ProvenDomain = { id: DomainId; account: AccountId; name: DomainName }

type Row = {
  state: ProofState['state']
  served: boolean
  reason: ProofState['reason']
  method: ProofState['method']
  asked_at: Date | null
  checked_at: Date | null
  deadline: Date | null
  error: string | null
  missed_at: Date | null
}

/** Reads what is known. A domain without a row was not asked. */
export async function readProof(
  db: Queryable,
  { id, account }: Pick<ProvenDomain, 'id' | 'account'>,
): Promise<ProofState> {
  const { rows } = await db.query<Row>(
    `select state, served, reason, method, asked_at, checked_at, deadline, error, missed_at
       from domain_proof where domain_id = $1 and account_id = $2`,
    [id, account],
  )
  return rows[0] === undefined ? NOT_ASKED : stateOf(rows[0])
}

function stateOf(row: Row): ProofState {
  return {
    state: row.state,
    served: row.served,
    reason: row.reason,
    method: row.method,
    askedAtMs: row.asked_at?.getTime() ?? null,
    checkedAtMs: row.checked_at?.getTime() ?? null,
    deadlineMs: row.deadline?.getTime() ?? null,
    error: row.error,
    missedAtMs: row.missed_at?.getTime() ?? null,
  }
}

/** Returns what the owner and the operator see. */
export async function viewProof(
  db: Queryable,
  domain: Pick<ProvenDomain, 'account' | 'name'>,
  { state, served, method, checkedAtMs, deadlineMs, error }: ProofState,
): Promise<DomainProof> {
  return {
    state,
    served,
    method,
    checked_at: isoOf(checkedAtMs),
    deadline: isoOf(deadlineMs),
    error,
    records: proofRecords(domain.name, await proofToken(db, domain.account, domain.name)),
  }
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/**
 * Changes what is known, in a transaction in which nothing else changes it. Nodes serve the domain, or stop, from the commit
 * on. Returns null if the account has the domain no longer.
 */
export async function changeProof(
  pool: pg.Pool,
  { id, account, name }: ProvenDomain,
  change: (before: ProofState) => ProofState,
): Promise<{ before: ProofState; after: ProofState } | null> {
  return retriedTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      'select from domain where id = $1 and account_id = $2 for no key update',
      [id, account],
    )
    if (rowCount === 0) return null
    const before = await readProof(client, { id, account })
    const after = change(before)
    if (after === before) return { before, after }
    await writeProof(client, { id, account }, after)
    if (after.state === 'proven' && before.state !== 'proven') {
      const details = { method: after.method }
      await record(client, { account, action: 'domain.proven', domain: name, details })
    }
    if (after.state === 'lost' && before.state !== 'lost') {
      await askProofLetters(client, { account, about: `lost ${id}` }, { what: 'lost', domain: name })
    }
    if (after.served !== before.served) await announceHost(client, name)
    if (after.state !== before.state) await announceAccount(client, account)
    return { before, after }
  })
}

export async function writeProof(
  client: Queryable,
  { id, account }: Pick<ProvenDomain, 'id' | 'account'>,
  after: ProofState,
): Promise<void> {
  const times = [after.askedAtMs, after.checkedAtMs, after.deadlineMs, after.missedAtMs]
  const { state, served, reason, method, error } = after
  await client.query(
    `insert into domain_proof (domain_id, account_id, state, served, reason, method, error, asked_at, checked_at, deadline, missed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (domain_id) do update set state = excluded.state, served = excluded.served, reason = excluded.reason,
       method = excluded.method, error = excluded.error, asked_at = excluded.asked_at, checked_at = excluded.checked_at,
       deadline = excluded.deadline, missed_at = excluded.missed_at`,
    [
      id,
      account,
      state,
      served,
      reason,
      method,
      error,
      ...times.map((ms) => (ms === null ? null : new Date(ms))),
    ],
  )
}
