import { type Clock, type Stopwatch, systemClock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'

const QUERY_TIMEOUT_MS = 4_000
const EVERY_MS = 15_000
const READINGS_AT_START = 3

/** A smaller step back is waited out, so that times stay in order. */
const MAX_STANDSTILL_MS = 1_000
/** Differences of the machine's clock that are logged. */
const WARN_MS = 2_000

/** The machine's own clocks. Tests give others. */
type MachineClocks = { stopwatch: Stopwatch; machine: Clock }

/**
 * The time of the database, which all nodes use. It is this machine's monotonic clock, corrected every 15 seconds:
 * only if it is outside the interval that a reading allows, and only to the edge of that interval. It keeps running
 * while PostgreSQL cannot be reached.
 */
export class DatabaseClock implements Clock {
  readonly #pool: pg.Pool
  readonly #log: Log
  readonly #stopwatch: Stopwatch
  readonly #machine: Clock
  /** How far the database's clock is ahead of the monotonic one. NaN until the first reading. */
  #aheadMs = Number.NaN
  #machineAheadMs = 0
  #lastMs = 0
  #hasWarned = false
  #isReading = false
  #timer: NodeJS.Timeout | undefined

  private constructor(pool: pg.Pool, log: Log, { stopwatch, machine }: MachineClocks) {
    this.#pool = pool
    this.#log = log
    this.#stopwatch = stopwatch
    this.#machine = machine
  }

  /** Rejects if a first reading fails. */
  static async start(
    pool: pg.Pool,
    log: Log,
    clocks: MachineClocks = { stopwatch: systemStopwatch, machine: systemClock },
    { everyMs = EVERY_MS }: { everyMs?: number } = {},
  ): Promise<DatabaseClock> {
    const clock = new DatabaseClock(pool, log, clocks)
    await clock.correct()
    clock.#timer = setInterval(() => void clock.#readAgain(), everyMs).unref()
    return clock
  }

  /** As `start`, but the machine's clock is used until a reading succeeds. */
  static startAway(pool: pg.Pool, log: Log): DatabaseClock {
    const clock = new DatabaseClock(pool, log, { stopwatch: systemStopwatch, machine: systemClock })
    clock.#aheadMs = systemClock.nowMs() - clock.#monotonicMs()
    clock.#timer = setInterval(() => void clock.#readAgain(), EVERY_MS).unref()
    return clock
  }

  /** Reads the time now. Rejects if the database does not answer. */
  async correct(): Promise<void> {
    for (let readings = 0; readings < READINGS_AT_START; readings++) await this.#read()
  }

  nowMs(): number {
    const ms = Math.round(this.#monotonicMs() + this.#aheadMs)
    const stepBackMs = this.#lastMs - ms
    if (stepBackMs > 0 && stepBackMs < MAX_STANDSTILL_MS) return this.#lastMs
    this.#lastMs = ms
    return ms
  }

  /** How far the machine's clock was ahead of the database's when last measured. */
  get machineAheadMs(): number {
    return this.#machineAheadMs
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #monotonicMs(): number {
    return this.#stopwatch() * 1_000
  }

  async #readAgain(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      await this.#read()
    } catch (error) {
      this.#log.debug({ err: (error as Error).message }, 'the time could not be read')
    } finally {
      this.#isReading = false
    }
  }

  async #read(): Promise<void> {
    const query = {
      name: 'database-clock',
      text: `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
      query_timeout: QUERY_TIMEOUT_MS,
    }
    const beforeMs = this.#monotonicMs()
    const { rows } = await this.#pool.query<{ ms: number }>(query)
    const afterMs = this.#monotonicMs()
    const { ms } = rows[0]!
    // The database read its clock at some time between the two.
    const leastMs = ms - afterMs
    const mostMs = ms - beforeMs
    if (Number.isNaN(this.#aheadMs)) this.#aheadMs = (leastMs + mostMs) / 2
    else this.#aheadMs = Math.min(Math.max(this.#aheadMs, leastMs), mostMs)
    this.#machineAheadMs = this.#machine.nowMs() - (this.#monotonicMs() + this.#aheadMs)
    this.#warnOnce()
  }

  #warnOnce(): void {
    const isOff = Math.abs(this.#machineAheadMs) > WARN_MS
    if (isOff && !this.#hasWarned) {
      this.#log.warn(
        { seconds: Math.round(this.#machineAheadMs / 1_000) },
        'the clock of this machine differs from the database, whose time all nodes use',
      )
    }
    this.#hasWarned = isOff
  }
}
