import { setTimeout as sleep } from 'node:timers/promises'

import type { RenderRequest } from '../render/outcome.ts'
import type { Rendering } from '../render/record.ts'

/** Longer than any render time that can be configured: then the renderer itself has failed. */
const RENDER_CAP_MS = 330_000

/** A render that is given up, and ended by `abort`, when its renderer has forgotten it. */
export async function renderCapped(
  render: (request: RenderRequest) => Promise<Rendering>,
  request: RenderRequest,
  abort: AbortController,
): Promise<Rendering> {
  const inTime = new AbortController()
  const cap = sleep(RENDER_CAP_MS, undefined, { signal: inTime.signal, ref: false }).then((): Rendering => {
    abort.abort()
    return { outcome: { kind: 'crashed', reason: `no outcome within ${RENDER_CAP_MS} ms` }, record: null }
  })
  // Ended by us below, when nobody listens any more.
  cap.catch(() => {})
  try {
    return await Promise.race([render(request), cap])
  } finally {
    inTime.abort()
  }
}
