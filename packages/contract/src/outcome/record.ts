import type { RenderOutcome, RuleChanges } from './outcome.ts'

/**
 * `ready-signal`: the page asked for it. `budget`: virtual time was used up, nothing was pending. `idle`: only
 * streams or endless requests were left. `cap`: the page was busy in every round. `deadline`: a crawler waited.
 */
export type CaptureReason = 'ready-signal' | 'budget' | 'idle' | 'cap' | 'deadline'

/** The marks of a render, in order. At `settled` waiting ended; at `snapshot` the outcome was known. */
export const PHASES = ['slot', 'tab', 'navigate', 'firstResponse', 'settled', 'snapshot'] as const
export type Phase = (typeof PHASES)[number]

export type Trouble = { url: string; kind: 'blocked' | 'failed' | 'missing'; reason: string }

/** Explains one render's outcome. Every list and text is bounded. */
export type RenderRecord = {
  /** Real milliseconds since the render was requested, or null for a mark that was not reached. */
  phases: Record<Phase, number | null>
  /** Is null if the render ended before the snapshot. */
  capture: CaptureReason | null
  /**
   * `made` includes `blocked`, `failed`, `missing` (unanswered at the capture) and `preloaded` (fetched early by the
   * gateway), but not `spared` images.
   */
  requests: {
    made: number
    spared: number
    blocked: number
    failed: number
    missing?: number
    preloaded?: number
  }
  troubles: Trouble[]
  consoleErrors: { count: number; texts: string[] }
  htmlBytes: number | null
  /** What the page's rule changed. It is absent if there is no rule. */
  rule?: RuleChanges
}

export type Rendering = { outcome: RenderOutcome; record: RenderRecord | null }
