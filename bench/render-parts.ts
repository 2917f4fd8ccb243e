import type { RenderView } from '../src/queue/judging/render-records.ts'

/**
 * The parts of one crawler's wait, in their order. `queue`: from the request to
 * the claim of its job. `slot`, `tab`: for room, and for a tab that the render
 * before has left clean. `navigate`: until the browser sends the request.
 * `response`: until the origin's head is there. `content`: the page's own work
 * and requests, and our waiting until nothing more comes. `snapshot`: the DOM
 * as text. `store`: judged, compressed and committed. `answer`: back to the
 * edge and out.
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

/** `latencyMs`: what the crawler measured. */
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
