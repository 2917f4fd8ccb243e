import { useSyncExternalStore } from 'react'
import { ago, exactTime } from '../format.ts'

const REDRAW_MS = 30_000

type TimeTextProps = { at: string | null; none?: string; words?: (iso: string) => string }

/** Shows how long ago something happened. `none` is shown for null. */
export function TimeText({ at, none = 'never', words = ago }: TimeTextProps) {
  useSyncExternalStore(clock.subscribe, clock.read)
  if (at === null) return <span className="quiet">{none}</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {words(at)}
    </time>
  )
}

/** One timer redraws all relative times twice a minute, while any is shown. */
class Clock {
  #nowMs = Date.now()
  #timer: ReturnType<typeof setInterval> | undefined
  readonly #watchers = new Set<() => void>()

  readonly read = (): number => this.#nowMs

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    this.#timer ??= setInterval(() => this.#redraw(), REDRAW_MS)
    return () => this.#leave(watcher)
  }

  #redraw(): void {
    this.#nowMs = Date.now()
    for (const redraw of this.#watchers) redraw()
  }

  #leave(watcher: () => void): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const clock = new Clock()
