import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { WARM_CHANNEL } from './warm.ts'
import { readWarmSitemaps, type WarmReadDeps } from './warm-read.ts'
import { warmStep } from './warm-step.ts'

/** In case a notification was lost. */
const IDLE_POLL_MS = 5_000

const WAITING_POLL_MS = 1_000

const FAULT_PAUSE_MS = 5_000

/** Domains whose sitemaps one node reads concurrently, so that a slow one does not delay the others. */
const READERS = 2

type Notifications = { on(channel: string, take: (payload: string) => void): void }

type WarmRuns = {
  /** Ends after the current step; another node or the next start continues. */
  close(): Promise<void>
}

export function startWarmRuns(
  deps: WarmReadDeps & { plans: PlanCatalogue; listener: Notifications; idlePollMs?: number },
): WarmRuns {
  const { log, idlePollMs = IDLE_POLL_MS } = deps
  const closing = new AbortController()
  const wakes = new Set<() => void>()
  deps.listener.on(WARM_CHANNEL, wakeAll)

  const loops = [
    loop(async () => {
      switch (await warmStep(deps)) {
        case 'moved':
          return 0
        case 'waiting':
          return WAITING_POLL_MS
        case 'idle':
          return idlePollMs
      }
    }),
    ...Array.from({ length: READERS }, () =>
      loop(async () => {
        if (!(await readWarmSitemaps(deps, closing.signal))) return idlePollMs
        wakeAll()
        return 0
      }),
    ),
  ]
  return {
    async close() {
      closing.abort()
      wakeAll()
      await Promise.all(loops)
    },
  }

  function wakeAll(): void {
    for (const wake of wakes) wake()
  }

  /** `step` returns the milliseconds until the next one; a wake-up ends the wait. */
  async function loop(step: () => Promise<number>): Promise<void> {
    let isWoken = false
    let wake = () => {}
    wakes.add(() => {
      isWoken = true
      wake()
    })
    while (!closing.signal.aborted) {
      const waitMs = await step().catch((error: Error) => {
        log.warn({ err: error }, 'a warm could not go on; it is tried again')
        return FAULT_PAUSE_MS
      })
      if (waitMs > 0 && !isWoken && !closing.signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, waitMs)
        wake = resolve
        await promise
        clearTimeout(timer)
      }
      isWoken = false
    }
  }
}
