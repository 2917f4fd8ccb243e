import type { Stopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { type AwayKind, awayKind } from './errors.ts'

const WORDS: Readonly<Record<AwayKind, string>> = {
  refused: 'the database cannot be reached',
  closed: 'the database closes connections',
  silent: 'the database does not respond',
  full: 'the database has no disk space left',
  connections: 'the database has no connection left',
  'read-only': 'the database takes no writes',
  starting: 'the database is starting',
}

/** A kind of error has ended when none came for this time and the database is there. */
const ENDED_AFTER_MS = 5_000
/** A kind that ends and begins again within this time is not logged as a warning again: a flapping server must not flood the log. */
const WARN_EVERY_MS = 60_000

type Open = { count: number; beganMs: number; lastMs: number }

/** Logs each kind of database error once when it begins, and once with a count when it has ended. */
export class AwayLog {
  readonly #log: Log
  readonly #stopwatch: Stopwatch
  readonly #isAway: () => boolean
  readonly #open = new Map<AwayKind, Open>()
  readonly #warnedMs = new Map<AwayKind, number>()
  readonly #timer: NodeJS.Timeout

  constructor(log: Log, stopwatch: Stopwatch, isAway: () => boolean) {
    this.#log = log
    this.#stopwatch = stopwatch
    this.#isAway = isAway
    this.#timer = setInterval(() => this.closeEnded(), ENDED_AFTER_MS).unref()
  }

  note(kind: AwayKind, error: unknown): void {
    const nowMs = this.#stopwatch() * 1_000
    const open = this.#open.get(kind)
    if (open !== undefined) {
      open.count++
      open.lastMs = nowMs
      return
    }
    this.#open.set(kind, { count: 1, beganMs: nowMs, lastMs: nowMs })
    const warnedMs = this.#warnedMs.get(kind)
    if (warnedMs !== undefined && nowMs - warnedMs < WARN_EVERY_MS) return
    this.#warnedMs.set(kind, nowMs)
    const reason = error instanceof Error ? error.message : String(error)
    this.#log.warn(
      { kind, reason },
      `${WORDS[kind]}; people and pages in memory are served, the API returns 503`,
    )
  }

  /** Logs the end of the kinds that did not come again. Also called every few seconds. */
  closeEnded(): void {
    if (this.#isAway()) return
    const nowMs = this.#stopwatch() * 1_000
    for (const [kind, { count, beganMs, lastMs }] of this.#open) {
      if (nowMs - lastMs < ENDED_AFTER_MS) continue
      this.#open.delete(kind)
      const seconds = Math.ceil((lastMs - beganMs) / 1_000)
      this.#log.info({ kind, errors: count, seconds }, 'errors of the database have ended')
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/**
 * Returns the log without warnings and errors whose `err` says that the database is away: `note` gets those, because
 * requests would write thousands of them.
 */
export function withoutAwayErrors(log: Log, note: (kind: AwayKind, error: unknown) => void): Log {
  const filtered = Object.create(log) as Log
  for (const level of ['warn', 'error'] as const) {
    const write = log[level].bind(log) as (...line: unknown[]) => void
    filtered[level] = ((...line: unknown[]) => {
      const [fields] = line
      const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined
      const kind = awayKind(error)
      if (kind === null) write(...line)
      else note(kind, error)
    }) as Log[typeof level]
  }
  return filtered
}
