import type { RenderOutcome } from './outcome.ts'
import { OUT_OF_MEMORY, TOLD_TOO_MUCH } from './page.ts'

/** `errorText` as `Page.navigate` gives it. */
export function outcomeOfNavigation(errorText: string): RenderOutcome {
  // An error status without a body: Chromium has a page of its own for it, we have nothing to keep.
  if (errorText === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE') return { kind: 'blank' }
  return { kind: 'origin-unreachable', reason: errorText }
}

/** The tab is gone, or Chromium refused what it never refuses to a sound page. */
export async function outcomeOfFault(error: unknown, lost: Promise<string>): Promise<RenderOutcome> {
  const reason = error instanceof Error ? error.message : String(error)
  const lostWhy = await Promise.race([lost, Promise.resolve(null)])
  return outcomeOfLoss(lostWhy ?? reason)
}

export function outcomeOfLoss(reason: string): RenderOutcome {
  if (reason === OUT_OF_MEMORY) return { kind: 'too-large', what: 'memory' }
  if (reason === TOLD_TOO_MUCH) return { kind: 'too-large', what: 'event-bytes' }
  return { kind: 'crashed', reason }
}
