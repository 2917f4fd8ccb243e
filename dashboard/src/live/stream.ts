import type { LiveEvent } from '../api/types.ts'

/** `live`: events come. `lost`: they do not, and screens ask every some seconds. `off`: nobody looks. */
export type LiveState = 'off' | 'connecting' | 'live' | 'lost'

/** As much of an `EventSource` as is used. */
export type Source = {
  addEventListener(name: string, take: (event: { data?: unknown }) => void): void
  close(): void
}

const NAMES = ['render', 'pages', 'warm', 'visits', 'quota', 'domain', 'account', 'fleet', 'reread'] as const

/** Pauses before it is tried again, in milliseconds; the last one for ever. */
const PAUSES_MS = [1_000, 2_000, 5_000, 15_000, 30_000]

export type LiveStream = {
  /** Opens it; again after a pause whenever it is lost. */
  open(): void
  close(): void
  readonly state: LiveState
}

/**
 * One stream of events for the whole dashboard. After a loss, the first thing
 * it gives is `reread`: what happened meanwhile is not told.
 */
export function createLiveStream(deps: {
  connect: () => Source
  take: (event: LiveEvent) => void
  /** The session has ended, perhaps elsewhere. */
  onEnded: () => void
  onState: (state: LiveState) => void
}): LiveStream {
  let state: LiveState = 'off'
  let source: Source | null = null
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
    // Also where the browser would try again by itself: how often is decided here.
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
