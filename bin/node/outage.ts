import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { Availability } from '@prepaint/postgres/availability.ts'
import type { ServedCertificate } from '@prepaint/service/certificates/stored-certificate.ts'
import type { EdgeSnapshot } from '@prepaint/service/snapshot/edge-snapshot.ts'
import type { WithoutDatabase } from './edge-backend.ts'

/** What the edge of a node has while PostgreSQL is away. */
export class Outage implements WithoutDatabase {
  readonly #availability: Availability
  readonly #snapshot: EdgeSnapshot | null

  /** `snapshot` is null on a node that keeps none. */
  constructor(availability: Availability, snapshot: EdgeSnapshot | null) {
    this.#availability = availability
    this.#snapshot = snapshot
  }

  get isAway(): boolean {
    return this.#availability.isAway
  }

  keptDomain(host: string): ServedDomain | null {
    return this.#snapshot?.domain(host) ?? null
  }

  keptCertificate(host: string): ServedCertificate | null {
    return this.#snapshot?.certificate(host) ?? null
  }

  untilAway<T>(use: () => Promise<T>): Promise<T> {
    return this.#availability.untilAway(use)
  }
}
