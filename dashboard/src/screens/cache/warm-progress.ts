import type { Warm } from '../../api/types.ts'
import { count, counted, duration } from '../../format.ts'

/** Returns null while the number of pages is unknown. */
export function warmPercent({ state, done, failed, left }: Warm): number | null {
  if (state === 'reading' || left === null) return null
  const all = done + failed + left
  return all === 0 ? 100 : ((done + failed) / all) * 100
}

/** Says how far a warm run is, in one sentence. */
export function warmHead(warm: Warm): string {
  const { state, done, failed, left, sitemaps, paused_at: pausedAt } = warm
  const paused = pausedAt === null ? '' : 'Paused. '
  switch (state) {
    case 'reading':
      return `${paused}Reading sitemaps: ${count(sitemaps.read)} read, ${count(sitemaps.left)} left`
    case 'queueing':
    case 'rendering': {
      const speed = warm.pages_per_second === null ? '' : `, ${count(warm.pages_per_second)} pages/s`
      const time = warm.seconds_left === null ? '' : `, ${duration(warm.seconds_left)} left`
      return `${paused}${count(done)} of ${counted(done + failed + (left ?? 0), 'page')} done${speed}${time}`
    }
    case 'done':
      if (warm.reason === 'over-quota') {
        return `Ended after ${counted(done, 'page')}: ${counted(left ?? 0, 'page')} not rendered`
      }
      return `Done: ${counted(done, 'page')}`
    case 'cancelled':
      return `Cancelled after ${counted(done, 'page')}`
    case 'failed':
      return 'Could not start'
  }
}

/** Says what became of the pages that were not rendered anew. */
export function warmNotes(warm: Warm): string[] {
  const all: [value: number, text: string][] = [
    [warm.unchanged, 'unchanged'],
    [warm.failed, 'failed'],
    [warm.fresh, 'still fresh'],
    [warm.forbidden, 'disallowed by robots.txt'],
    [warm.passed, 'excluded by a rule'],
    [warm.redirected, 'skipped: redirected'],
  ]
  return all.filter(([value]) => value > 0).map(([value, text]) => `${count(value)} ${text}`)
}

/** Says what a run uses of the month. `room` is the number of renders left until its limit. */
export function warmCost(room: number): string {
  const counts = 'Each render counts against the month'
  if (room === 0) return `${counts}: no renders are left.`
  return `${counts}: ${counted(room, 'render')} left. Warming ends when they are used up. Pages that robots.txt disallows for “Prepaint” are skipped.`
}
