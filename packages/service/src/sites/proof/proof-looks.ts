import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { applyProofMode, PROOF_TASK } from './ask-for-proof.ts'
import type { DomainProofs } from './domain-proofs.ts'
import { expireProof } from './judge-proof.ts'
import { changeProof, type ProvenDomain } from './stored-proof.ts'

/** The key of the task that brings domains of older nodes in line with the mode. */
const ALL = 'all'
const ALL_EVERY_MS = 3_600_000

type ProofLooksOptions = {
  mode: ProofMode
  /** Divides the long times. */
  speed: number
}

/** Looks for proofs that are asked for, and again for those that were found. */
export class ProofLooks implements TaskKind {
  readonly name = PROOF_TASK
  readonly slots = 4
  /** A look takes up to 12 seconds. */
  readonly perAccount = 2
  readonly faultMessage = 'the proof of a domain could not be looked for; trying again'
  readonly subjects = `
    select '${ALL}' as key, 0 as account_id, now() as due_at
    union all
    select domain_id::text, account_id, now() from domain_proof
     where state in ('asked', 'lost') or (state = 'proven' and method in ('dns', 'file', 'meta'))`
  readonly #pool: pg.Pool
  readonly #proofs: DomainProofs
  readonly #clock: Clock
  readonly #options: ProofLooksOptions

  constructor(pool: pg.Pool, proofs: DomainProofs, clock: Clock, options: ProofLooksOptions) {
    this.#pool = pool
    this.#proofs = proofs
    this.#clock = clock
    this.#options = options
  }

  /** Call it at startup: another mode takes effect then. */
  async applyMode(): Promise<void> {
    await applyProofMode(this.#pool, { ...this.#options, nowMs: this.#clock.nowMs() })
  }

  async run({ key }: Task): Promise<number | null> {
    if (key === ALL) {
      await this.applyMode()
      return ALL_EVERY_MS
    }
    const domain = await this.#find(Number(key) as DomainId)
    if (domain === null) return null
    const found = await this.#proofs.look(domain)
    if (found === null || found.state === 'not-asked') return null
    const expired = await changeProof(this.#pool, domain, (before) =>
      expireProof(before, this.#clock.nowMs()),
    )
    return expired === null ? null : this.#proofs.nextLookMs(expired.after)
  }

  async #find(id: DomainId): Promise<ProvenDomain | null> {
    const { rows } = await this.#pool.query<{ account: AccountId; name: DomainName }>(
      `select d.account_id as account, d.custom_domain as name from domain d join domain_proof p on p.domain_id = d.id
        where d.id = $1 and p.state <> 'not-asked'`,
      [id],
    )
    return rows[0] === undefined ? null : { id, ...rows[0] }
  }
}
