import type { WarmProgress } from '../src/queue/warm-progress.ts'

/** How far a warm is, in one line. */
export function warmText(warm: WarmProgress): string {
  const { state, known, done, unchanged, failed, left, sitemaps } = warm
  if (state === 'failed') return `Failed: ${warm.reason ?? ''}`
  if (state === 'reading') {
    return `${pausedWord(warm)}Reading sitemaps: ${sitemaps.read} read, ${sitemaps.left} left`
  }
  const parts = [`${done} of ${known} pages done`]
  if (unchanged > 0) parts.push(`${unchanged} of them unchanged`)
  if (failed > 0) parts.push(`${failed} failed`)
  if (warm.forbidden > 0) parts.push(`${warm.forbidden} not allowed by robots.txt`)
  if (warm.passed > 0) parts.push(`${warm.passed} always passed to the origin`)
  if (warm.fresh > 0) parts.push(`${warm.fresh} still fresh`)
  if (sitemaps.failed > 0) parts.push(`${sitemaps.failed} sitemaps could not be read`)
  if (state === 'done' || state === 'cancelled') {
    const why = warm.reason === null ? '' : ` (${warm.reason})`
    return `${state === 'done' ? 'Done' : `Cancelled${why}`}: ${parts.join(', ')}`
  }
  if (left !== null) parts.push(`${left} left`)
  if (warm.pages_per_second !== null) parts.push(`${warm.pages_per_second} pages/s`)
  if (warm.seconds_left !== null) parts.push(`${duration(warm.seconds_left)} to go`)
  return `${pausedWord(warm)}${parts.join(', ')}`
}

function pausedWord({ paused_at: pausedAt, reason }: WarmProgress): string {
  if (pausedAt === null) return ''
  return reason === 'over-quota' ? "Paused, the month's renders are used up: " : 'Paused: '
}

function duration(seconds: number): string {
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}
