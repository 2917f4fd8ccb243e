import { useSyncExternalStore } from 'react'

import type { LiveEvent } from '../api/types.ts'

/** `live`: events arrive. `lost`: screens poll. `off`: the window is hidden. */
export type LiveState = 'off' | 'connecting' | 'live' | 'lost'

export type EventStream = {
  addEventListener(name: string, take: (event: { data?: unknown }) => void): void
  close(): void
}

const NAMES = [
  'render',
  'pages',
  'warm',
  'visits',
  'incident',
  'quota',
  'domain',
  'account',
  'fleet',
  'reread',
] as const

const PAUSES_MS = [1_000, 2_000, 5_000, 15_000, 30_000]

export type LiveStream = {
  open(): void
  close(): void
  readonly state: LiveState
}

/** One event stream for the whole dashboard. Emits `reread` after a loss, because events were missed. */
export function createLiveStream(deps: {
  connect: () => EventStream
  take: (event: LiveEvent) => void
  onEnded: () => void
  onState: (state: LiveState) => void
}): LiveStream {
  let state: LiveState = 'off'
  let source: EventStream | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  let missed = false

  const become = (next: LiveState) => {
    if (state === next) return
    state = next
    deps.onState(next)
  }

  function drop(): void {
    source?.close()
    source = null
    clearTimeout(timer)
  }

  function again(): void {
    drop()
    missed = true
    become('lost')
    timer = setTimeout(connect, PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)])
  }

  function connect(): void {
    const current = deps.connect()
    source = current
    const on = (name: string, take: (data: unknown) => void) =>
      current.addEventListener(name, ({ data }) => {
        if (source === current) take(data)
      })
    for (const name of NAMES) {
      on(name, (data) => deps.take({ event: name, data: JSON.parse(String(data)) } as LiveEvent))
    }
    on('hello', () => {
      failures = 0
      become('live')
      if (missed) deps.take({ event: 'reread', data: {} })
      missed = false
    })
    on('end', (data) => {
      const { reason } = JSON.parse(String(data)) as { reason?: string }
      if (reason === 'access') deps.onEnded()
      again()
    })
    // Replaces the browser's own retry, to control the delay.
    on('error', again)
  }

  return {
    open() {
      if (state !== 'off') return
      become('connecting')
      connect()
    },
    close() {
      drop()
      if (state !== 'off') missed = true
      become('off')
    },
    get state() {
      return state
    },
  }
}

let shown: LiveState = 'off'
const watchers = new Set<() => void>()

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (watch) => {
      watchers.add(watch)
      return () => watchers.delete(watch)
    },
    () => shown,
  )
}

export function setLiveState(next: LiveState): void {
  shown = next
  for (const watch of watchers) watch()
}

/** Milliseconds; false while events arrive. */
export function pollWhileLost(): number | false {
  return shown === 'lost' ? 15_000 : false
}
