import type pg from 'pg'

import { type Clock, type Stopwatch, systemClock, systemStopwatch } from '../../clock.ts'
import type { Log } from '../../log.ts'

type DatabaseClock = Clock & {
  /** How far the machine's own clock is ahead of the database's, as far as was measured last. */
  readonly machineAheadMs: number
  close(): void
}

const ANSWER_WITHIN_MS = 4_000
const EVERY_MS = 5_000
const LOOKS_AT_START = 3

/** A smaller step back is waited out: times that were taken before and after it would be in the wrong order. */
const WAITED_OUT_MS = 1_000
/** From here on the operator is told. */
const TOLD_MS = 2_000

/**
 * The one clock of all nodes: that of the database, which leases, windows and
 * the ages of pages are written by. It is kept by this machine's monotonic
 * clock and set right every five seconds, so neither a wrong clock of the
 * machine nor a jump of it does any harm, and it goes on while PostgreSQL is away.
 *
 * An answer says what the time was at some moment between question and answer;
 * the clock is moved only when it lies outside of what that allows, and then no
 * further than to its edge. Rejects when the first look fails.
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
  let told = false

  async function look(): Promise<void> {
    const query = {
      name: 'database-clock',
      text: `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
      query_timeout: ANSWER_WITHIN_MS,
    }
    const beforeMs = monotonicMs()
    const { rows } = await pool.query<{ ms: number }>(query)
    const afterMs = monotonicMs()
    const { ms } = rows[0]!
    const [least, most] = [ms - afterMs, ms - beforeMs]
    if (Number.isNaN(aheadMs)) aheadMs = (least + most) / 2
    else aheadMs = Math.min(Math.max(aheadMs, least), most)
    machineAheadMs = machine.nowMs() - (monotonicMs() + aheadMs)
    tell()
  }

  function tell(): void {
    const off = Math.abs(machineAheadMs) > TOLD_MS
    if (off && !told) {
      log.warn(
        { seconds: Math.round(machineAheadMs / 1_000) },
        'the clock of this machine differs from that of the database, by which all nodes go',
      )
    }
    told = off
  }

  for (let looks = 0; looks < LOOKS_AT_START; looks++) await look()
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    look()
      .catch((error: Error) => log.debug({ err: error.message }, 'the time could not be asked for'))
      .finally(() => {
        looking = false
      })
  }, everyMs)
  timer.unref()

  return {
    nowMs() {
      const ms = Math.round(monotonicMs() + aheadMs)
      if (ms < lastMs && lastMs - ms < WAITED_OUT_MS) return lastMs
      lastMs = ms
      return ms
    },
    get machineAheadMs() {
      return machineAheadMs
    },
    close: () => clearInterval(timer),
  }
}
