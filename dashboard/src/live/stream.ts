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

/** What the stream reports to the dashboard. */
export type StreamListener = {
  onEvent(event: LiveEvent): void
  /** The session has ended. */
  onEnded(): void
  onState(state: LiveState): void
}

/** The one event stream of the whole dashboard. Emits `reread` after a loss, because events were missed. */
export class LiveStream {
  readonly #connect: () => EventStream
  readonly #listener: StreamListener
  #state: LiveState = 'off'
  #source: EventStream | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #hasMissed = false

  constructor(connect: () => EventStream, listener: StreamListener) {
    this.#connect = connect
    this.#listener = listener
  }

  open(): void {
    if (this.#state !== 'off') return
    this.#become('connecting')
    this.#openSource()
  }

  close(): void {
    this.#drop()
    if (this.#state !== 'off') this.#hasMissed = true
    this.#become('off')
  }

  #openSource(): void {
    const source = this.#connect()
    this.#source = source
    const on = (name: string, take: (data: unknown) => void) =>
      source.addEventListener(name, ({ data }) => {
        if (this.#source === source) take(data)
      })
    for (const name of NAMES) {
      on(name, (data) => this.#listener.onEvent({ event: name, data: JSON.parse(String(data)) } as LiveEvent))
    }
    on('hello', () => this.#begin())
    on('end', (data) => {
      const { reason } = JSON.parse(String(data)) as { reason?: string }
      if (reason === 'access') this.#listener.onEnded()
      this.#reconnect()
    })
    // Replaces the browser's own retry, to control the delay.
    on('error', () => this.#reconnect())
  }

  #begin(): void {
    this.#failures = 0
    this.#become('live')
    if (this.#hasMissed) this.#listener.onEvent({ event: 'reread', data: {} })
    this.#hasMissed = false
  }

  #reconnect(): void {
    this.#drop()
    this.#hasMissed = true
    this.#become('lost')
    const pauseMs = PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)]
    this.#failures += 1
    this.#timer = setTimeout(() => this.#openSource(), pauseMs)
  }

  #drop(): void {
    this.#source?.close()
    this.#source = null
    clearTimeout(this.#timer)
  }

  #become(next: LiveState): void {
    if (this.#state === next) return
    this.#state = next
    this.#listener.onState(next)
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

/** Returns how often screens poll, in milliseconds, or false while events arrive. */
export function pollWhileLost(): number | false {
  return shown === 'lost' ? 15_000 : false
}
