import type { Warm } from '../../api/types.ts'

const NUMBER = new Intl.NumberFormat('en')
const pages = (count: number) => `${NUMBER.format(count)} ${count === 1 ? 'page' : 'pages'}`

/** How much of it is done, in percent; null while nobody knows how much there is. */
export function warmPercent({ state, done, failed, left }: Warm): number | null {
  if (state === 'reading' || left === null) return null
  const all = done + failed + left
  return all === 0 ? 100 : ((done + failed) / all) * 100
}

/** What it is doing, or how it ended. */
export function warmHead(warm: Warm): string {
  const { state, done, failed, left, sitemaps, paused_at: pausedAt } = warm
  const paused = pausedAt === null ? '' : 'Paused. '
  switch (state) {
    case 'reading':
      return `${paused}Reading sitemaps: ${NUMBER.format(sitemaps.read)} read, ${NUMBER.format(sitemaps.left)} left`
    case 'queueing':
    case 'rendering': {
      const speed = warm.pages_per_second === null ? '' : `, ${NUMBER.format(warm.pages_per_second)} pages/s`
      const time = warm.seconds_left === null ? '' : `, ${duration(warm.seconds_left)} to go`
      return `${paused}${NUMBER.format(done)} of ${pages(done + failed + (left ?? 0))} done${speed}${time}`
    }
    case 'done':
      return `Done: ${pages(done)}`
    case 'cancelled':
      return `Cancelled after ${pages(done)}`
    case 'failed':
      return 'It could not begin'
  }
}

/** What else there is to be said, in a few words each. */
export function warmNotes(warm: Warm): string[] {
  const all: [count: number, words: string][] = [
    [warm.unchanged, 'unchanged'],
    [warm.failed, 'failed'],
    [warm.fresh, 'still fresh'],
    [warm.forbidden, 'not allowed by robots.txt'],
    [warm.passed, 'passed by a rule'],
  ]
  return all.filter(([count]) => count > 0).map(([count, words]) => `${NUMBER.format(count)} ${words}`)
}

/** What a start means for the month. `room`: renders that are left until its limit. */
export function warmPlan(room: number): string {
  const counts = 'Each render counts against the month'
  if (room === 0) return `${counts}, of which nothing is left for warms.`
  return `${counts}: ${NUMBER.format(room)} are left. When they are used up, the warm pauses. What the robots.txt of the site does not allow to “Prepaint” is left out.`
}

function duration(seconds: number): string {
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}
