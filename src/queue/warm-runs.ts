import type pg from 'pg'

import type { Log } from '../log.ts'
import { WARM_RUN_CHANNEL } from './warm-run.ts'
import { warmStep } from './warm-step.ts'

/** A notification may be lost with its connection: nobody waits longer than this for a run to begin. */
const IDLE_POLL_MS = 5_000

/** While the renderers catch up. */
const WAITING_POLL_MS = 1_000

const FAULT_PAUSE_MS = 5_000

type Notifications = { on(channel: string, take: (payload: string) => void): void }

export type WarmRuns = {
  /** Ends after the step that is under way; another node, or the next start, goes on. */
  close(): Promise<void>
}

/** Carries the full warms on that were asked for, one batch after the other, on any number of nodes. */
export function startWarmRuns(deps: { pool: pg.Pool; listener: Notifications; log: Log }): WarmRuns {
  let closed = false
  let woken = false
  let wake = () => {
    woken = true
  }
  deps.listener.on(WARM_RUN_CHANNEL, () => wake())

  const running = run()
  return {
    async close() {
      closed = true
      wake()
      await running
    },
  }

  async function run(): Promise<void> {
    while (!closed) await pause(await step())
  }

  /** Milliseconds to wait before the next. */
  async function step(): Promise<number> {
    try {
      switch (await warmStep(deps.pool)) {
        case 'moved':
          return 0
        case 'waiting':
          return WAITING_POLL_MS
        case 'idle':
          return IDLE_POLL_MS
      }
    } catch (error) {
      deps.log.warn({ err: error }, 'a full warm could not go on; it is tried again')
      return FAULT_PAUSE_MS
    }
  }

  async function pause(ms: number): Promise<void> {
    if (ms === 0 || closed) return
    if (!woken) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, ms)
      wake = resolve
      await promise
      clearTimeout(timer)
      wake = () => {
        woken = true
      }
    }
    woken = false
  }
}
