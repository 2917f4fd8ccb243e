import type { RenderOutcome } from './outcome.ts'

/**
 * Why a page was taken when it was. `ready-signal`: the page said so.
 * `budget`: its virtual time was used up and nothing was pending. `idle`: only
 * streams or requests that never end were left. `cap`: it found something to do
 * in every round.
 */
export type CaptureReason = 'ready-signal' | 'budget' | 'idle' | 'cap'

/** In their order. `settled`: nothing more was waited for. `snapshot`: the outcome was there. */
export const PHASES = ['slot', 'tab', 'navigate', 'firstResponse', 'settled', 'snapshot'] as const
export type Phase = (typeof PHASES)[number]

/** A request that brought the page nothing: refused by us, or failed. */
export type Trouble = { url: string; kind: 'blocked' | 'failed'; reason: string }

/** What is kept of one render to explain its outcome. Every list and text in it is bounded. */
export type RenderRecord = {
  /** Real milliseconds from the moment the render was asked for; null: not reached. */
  phases: Record<Phase, number | null>
  /** null: the render ended before. */
  capture: CaptureReason | null
  /**
   * `spared`: pictures that were not downloaded. `blocked` and `failed` are among those made; so are those
   * `preloaded`, which the gateway had sent before the page did (absent in older records).
   */
  requests: { made: number; spared: number; blocked: number; failed: number; preloaded?: number }
  /** The first of them. */
  troubles: Trouble[]
  /** `texts`: the first of them. */
  consoleErrors: { count: number; texts: string[] }
  /** Of the snapshot as UTF-8; null: there is none. */
  htmlBytes: number | null
}

/** A render with its explanation; null: nobody wrote one. */
export type Rendering = { outcome: RenderOutcome; record: RenderRecord | null }
