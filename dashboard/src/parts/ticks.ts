import { useSyncExternalStore } from 'react'

const EVERY_MS = 30_000

let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const watchers = new Set<() => void>()

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  timer ??= setInterval(() => {
    nowMs = Date.now()
    for (const each of watchers) each()
  }, EVERY_MS)
  return () => {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Has whoever shows how long ago something was say it anew, twice a minute. */
export function useTicks(): void {
  useSyncExternalStore(watch, () => nowMs)
}
