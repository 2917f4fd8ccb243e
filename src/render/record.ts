import type { RenderOutcome } from './outcome.ts'

/**
 * Why the snapshot was taken. `ready-signal`: the page asked for it. `budget`: its virtual time was used up and nothing
 * was pending. `idle`: only streams or requests that never end were left. `cap`: it had something to do in every round.
 */
export type CaptureReason = 'ready-signal' | 'budget' | 'idle' | 'cap'

/** In their order. `settled`: waiting ended. `snapshot`: the outcome was known. */
export const PHASES = ['slot', 'tab', 'navigate', 'firstResponse', 'settled', 'snapshot'] as const
export type Phase = (typeof PHASES)[number]

export type Trouble = { url: string; kind: 'blocked' | 'failed'; reason: string }

/** Explains the outcome of one render. Every list and text in it is bounded. */
export type RenderRecord = {
  /** Real milliseconds since the render was requested; null: not reached. */
  phases: Record<Phase, number | null>
  /** null: the render ended before the snapshot. */
  capture: CaptureReason | null
  /**
   * `spared`: images that were not downloaded. Part of `made` are `blocked`, `failed` and `preloaded`, which the
   * gateway had sent before the page did (absent in older records).
   */
  requests: { made: number; spared: number; blocked: number; failed: number; preloaded?: number }
  troubles: Trouble[]
  consoleErrors: { count: number; texts: string[] }
  /** Of the snapshot as UTF-8; null: there is none. */
  htmlBytes: number | null
}

export type Rendering = { outcome: RenderOutcome; record: RenderRecord | null }
