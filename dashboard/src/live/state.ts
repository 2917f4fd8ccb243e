import { useSyncExternalStore } from 'react'

import type { LiveState } from './stream.ts'

let state: LiveState = 'off'
const watchers = new Set<() => void>()

/** How it stands with live figures. */
export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (watch) => {
      watchers.add(watch)
      return () => watchers.delete(watch)
    },
    () => state,
  )
}

/** How often screens ask while no events come, in milliseconds; false: they are told. */
export function pollWhileLost(): number | false {
  return state === 'lost' ? 15_000 : false
}

export function setLiveState(next: LiveState): void {
  state = next
  for (const watch of watchers) watch()
}
