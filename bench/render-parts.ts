import type { RenderView } from '@prepaint/pages/queue/judging/render-records.ts'

/**
 * The parts of a crawler's wait, in order. `queue`: until its job is claimed. `response`: until the origin's headers.
 * `content`: the page's work and requests. `store`: judging, compressing, committing. `answer`: back to the edge and
 * out.
 */
export const PARTS = [
  'queue',
  'slot',
  'tab',
  'navigate',
  'response',
  'content',
  'snapshot',
  'store',
  'answer',
] as const

export type Parts = Record<(typeof PARTS)[number], number>

/** `latencyMs`: measured by the crawler. */
export function partsOf({ queued_ms, stored_ms, record }: RenderView, latencyMs: number): Parts {
  const { slot, tab, navigate, firstResponse, settled, snapshot } = record.phases
  const at = { slot, tab, navigate, firstResponse, settled, snapshot }
  for (const [phase, ms] of Object.entries(at)) if (ms === null) throw new Error(`no time for ${phase}`)
  const between = (from: number | null, to: number | null) => Number(to) - Number(from)
  return {
    queue: queued_ms,
    slot: Number(slot),
    tab: between(slot, tab),
    navigate: between(tab, navigate),
    response: between(navigate, firstResponse),
    content: between(firstResponse, settled),
    snapshot: between(settled, snapshot),
    store: between(snapshot, stored_ms),
    answer: latencyMs - queued_ms - stored_ms,
  }
}
