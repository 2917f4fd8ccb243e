import { type Clock, type Stopwatch, systemClock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'

type DatabaseClock = Clock & {
  /** How far the machine's clock was ahead of the database's when last measured. */
  readonly machineAheadMs: number
  close(): void
}

const QUERY_TIMEOUT_MS = 4_000
const EVERY_MS = 15_000
const READINGS_AT_START = 3

/** Stands still instead of stepping back, so that times stay in order. */
const MAX_STANDSTILL_MS = 1_000
const WARN_MS = 2_000

/**
 * All nodes use the database's time: this machine's monotonic clock, corrected every 15 seconds.
 * Moves only if outside the interval between query and response, and only to its edge.
 * Keeps running without PostgreSQL. Rejects if the first reading fails.
 */
export async function startDatabaseClock(
  deps: { pool: pg.Pool; log: Log; stopwatch?: Stopwatch; machine?: Clock },
  { everyMs = EVERY_MS }: { everyMs?: number } = {},
): Promise<DatabaseClock> {
  const { pool, log, stopwatch = systemStopwatch, machine = systemClock } = deps
  const monotonicMs = () => stopwatch() * 1_000
  let aheadMs = Number.NaN
  let lastMs = 0
  let machineAheadMs = 0
  let warned = false

  async function read(): Promise<void> {
    const query = {
      name: 'database-clock',
      text: `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
      query_timeout: QUERY_TIMEOUT_MS,
    }
    const beforeMs = monotonicMs()
    const { rows } = await pool.query<{ ms: number }>(query)
    const afterMs = monotonicMs()
    const { ms } = rows[0]!
    const [least, most] = [ms - afterMs, ms - beforeMs]
    if (Number.isNaN(aheadMs)) aheadMs = (least + most) / 2
    else aheadMs = Math.min(Math.max(aheadMs, least), most)
    machineAheadMs = machine.nowMs() - (monotonicMs() + aheadMs)
    warn()
  }

  function warn(): void {
    const off = Math.abs(machineAheadMs) > WARN_MS
    if (off && !warned) {
      log.warn(
        { seconds: Math.round(machineAheadMs / 1_000) },
        'the clock of this machine differs from the database, whose time all nodes use',
      )
    }
    warned = off
  }

  for (let readings = 0; readings < READINGS_AT_START; readings++) await read()
  let reading = false
  const timer = setInterval(() => {
    if (reading) return
    reading = true
    read()
      .catch((error: Error) => log.debug({ err: error.message }, 'the time could not be read'))
      .finally(() => {
        reading = false
      })
  }, everyMs)
  timer.unref()

  return {
    nowMs() {
      const ms = Math.round(monotonicMs() + aheadMs)
      if (ms < lastMs && lastMs - ms < MAX_STANDSTILL_MS) return lastMs
      lastMs = ms
      return ms
    },
    get machineAheadMs() {
      return machineAheadMs
    },
    close: () => clearInterval(timer),
  }
}
