import { useSyncExternalStore } from 'react'

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

const REDRAW_MS = 30_000

/** `3 hours ago` or `in 2 days`; after 45 days the date. */
export function ago(iso: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000
  if (Math.abs(seconds) > 45 * 86_400) return DAY.format(new Date(iso))
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit)
  }
  return 'just now'
}

export function TimeText({ at, none = 'never' }: { at: string | null; none?: string }) {
  useSyncExternalStore(watchClock, () => clockMs)
  if (at === null) return <span className="quiet">{none}</span>
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))}>
      {ago(at)}
    </time>
  )
}

let clockMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const watchers = new Set<() => void>()

/** One timer redraws all relative times twice a minute. */
function watchClock(watcher: () => void): () => void {
  watchers.add(watcher)
  timer ??= setInterval(() => {
    clockMs = Date.now()
    for (const each of watchers) each()
  }, REDRAW_MS)
  return () => {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
