import type { DomainId } from '../ids.ts'

/** Domains share them: at worst something is done once too often. */
const EPOCHS = 1_024

export type Epochs = ReturnType<typeof createEpochs>

/** Numbers that move when something is said about a domain: whoever sees one unmoved knows that nothing was. */
export function createEpochs() {
  const epochs = new Float64Array(EPOCHS)
  return {
    of: (domain: DomainId): number => epochs[domain % EPOCHS]!,
    move(domain: DomainId): void {
      epochs[domain % EPOCHS]!++
    },
    /** Where the number is a time: the latest that was said. */
    raise(domain: DomainId, to: number): void {
      epochs[domain % EPOCHS] = Math.max(epochs[domain % EPOCHS]!, to)
    },
    moveAll(): void {
      for (let at = 0; at < EPOCHS; at++) epochs[at]!++
    },
  }
}
