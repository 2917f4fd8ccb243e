/**
 * Called after each committed change, before its answer: resolves once this
 * node has heard of everything that was committed before the call. Who was
 * answered then never meets the state before his change, not even one
 * millisecond later. Bounded, and never rejects: the change is made.
 */
export type CaughtUp = () => Promise<void>
