import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { Rate } from '@prepaint/postgres/rates'
import { askTask } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import type pg from 'pg'
import { PROOF_TASK } from './ask-for-proof.ts'
import { judgeProof, nextLookMs, type ProofState } from './judge-proof.ts'
import type { ProofLook } from './look-for-proof.ts'
import { changeProof, type ProvenDomain, readProof, viewProof } from './stored-proof.ts'

export const PROOF_CHECKS_AN_HOUR = 30
/** Counts checks of `account <id>`. */
const PROOF_RATE = new Rate({
  what: 'proof check',
  most: PROOF_CHECKS_AN_HOUR,
  withinMs: 3_600_000,
  window: 'sliding',
})
/** Looks of a node that requests wait for. Accounts share them: a look takes up to 12 seconds. */
const AT_ONCE = 16

export type LookForProof = (domain: ProvenDomain) => Promise<ProofLook>

/** The proofs that names are accounts' own: looks for them, and keeps what was found. */
export class DomainProofs {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #look: LookForProof
  readonly #speed: number
  readonly #shares = new ShareByAccount(AT_ONCE)

  /** `speed` divides the times of weekly looks. */
  constructor(pool: pg.Pool, clock: Clock, look: LookForProof, speed: number) {
    this.#pool = pool
    this.#clock = clock
    this.#look = look
    this.#speed = speed
  }

  async read(domain: ProvenDomain): Promise<DomainProof> {
    return viewProof(this.#pool, domain, await readProof(this.#pool, domain))
  }

  /** Looks now, for the owner. Throws `too_many_checks`, and `domain_not_found` if the account has the domain no longer. */
  async check(domain: ProvenDomain): Promise<DomainProof> {
    const leave = this.#shares.enter(domain.account)
    if (leave === null) throw new AppError('too_many_checks', { headers: { 'Retry-After': '1' } })
    try {
      const refusal = await PROOF_RATE.take(this.#pool, `account ${domain.account}`)
      if (refusal !== null) throw new AppError('too_many_checks', { headers: refusal.headers })
      return await this.#checked(domain)
    } finally {
      leave()
    }
  }

  async #checked(domain: ProvenDomain): Promise<DomainProof> {
    const after = await this.look(domain)
    if (after === null) throw new AppError('domain_not_found')
    await this.#askAgain(domain, after)
    return viewProof(this.#pool, domain, after)
  }

  /**
   * Finds out whether a new domain that another account had leads here. Left to the task if the account has too many looks under
   * way, or made too many.
   */
  async settle(domain: ProvenDomain): Promise<void> {
    const { reason } = await readProof(this.#pool, domain)
    if (reason !== 'former') return
    await this.check(domain).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
    })
  }

  /** The operator vouches for the account. Throws `domain_not_found`. */
  async vouch(domain: ProvenDomain): Promise<DomainProof> {
    const checkedAtMs = this.#clock.nowMs()
    const changed = await changeProof(this.#pool, domain, (before) => ({
      ...before,
      state: 'proven',
      served: true,
      reason: null,
      method: 'operator',
      checkedAtMs,
      deadlineMs: null,
      error: null,
      missedAtMs: null,
    }))
    if (changed === null) throw new AppError('domain_not_found')
    return viewProof(this.#pool, domain, changed.after)
  }

  /** Looks, and keeps what was found. Returns null if the account has the domain no longer. */
  async look(domain: ProvenDomain): Promise<ProofState | null> {
    const look = await this.#look(domain)
    const changed = await changeProof(this.#pool, domain, (before) => judgeProof(before, look, this.#times()))
    return changed?.after ?? null
  }

  /** Milliseconds until the next look; null: none. */
  nextLookMs(state: ProofState): number | null {
    return nextLookMs(state, this.#times())
  }

  async #askAgain({ id, account }: ProvenDomain, state: ProofState): Promise<void> {
    const afterMs = this.nextLookMs(state)
    if (afterMs === null) return
    await askTask(this.#pool, { kind: PROOF_TASK, key: id, accountId: account, afterMs })
  }

  #times() {
    return { nowMs: this.#clock.nowMs(), speed: this.#speed }
  }
}
