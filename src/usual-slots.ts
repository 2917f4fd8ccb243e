import { availableParallelism, totalmem } from 'node:os'

const MIB = 2 ** 20

/** Node, PostgreSQL and a browser without pages. */
export const BASE_BYTES = 768 * MIB
/** What one more page at once takes when pages are large: `browsers.ts` replaces a browser that takes more. */
export const SLOT_BYTES = 384 * MIB

/** What this process may use: of the machine, or of the container that it runs in. */
export type Machine = { cores: number; memoryBytes: number }

/** Limits of the container included: Node asks the control group for both. */
export function thisMachine(): Machine {
  const limitBytes = process.constrainedMemory()
  const memoryBytes = limitBytes > 0 ? Math.min(totalmem(), limitBytes) : totalmem()
  return { cores: availableParallelism(), memoryBytes }
}

/**
 * Pages rendered at once where nobody says how many: three for two cores, as a
 * render computes for two thirds of its time and waits for its origin and us in
 * the rest (docs/decisions/0028-cheaper-renders.md), and at least two; fewer where
 * that many large pages would not fit into memory; never none.
 */
export function usualSlots({ cores, memoryBytes }: Machine): number {
  const fitting = Math.floor((memoryBytes - BASE_BYTES) / SLOT_BYTES)
  return Math.max(1, Math.min(Math.ceil(cores * 1.5), fitting))
}
