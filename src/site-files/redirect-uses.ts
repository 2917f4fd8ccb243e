import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import type { Log } from '../log.ts'
import { addRedirectUses, type RedirectUse } from './stored-redirects.ts'

const FLUSH_EVERY_MS = 5_000
/** Further redirects are not counted until the next flush. */
const USES_LIMIT = 50_000
const BATCH = 1_000

/** Counts in memory and writes every few seconds. A batch that cannot be written is lost. */
export class RedirectUses {
  readonly #db: Queryable
  readonly #log: Log
  readonly #uses = new Map<string, RedirectUse>()
  readonly #timer: NodeJS.Timeout
  #writing = Promise.resolve()

  constructor({ db, log }: { db: Queryable; log: Log }) {
    this.#db = db
    this.#log = log
    this.#timer = setInterval(() => void this.flush(), FLUSH_EVERY_MS).unref()
  }

  note(domain: DomainId, name: string, nowMs: number): void {
    const key = `${domain}${name}`
    const known = this.#uses.get(key)
    if (known !== undefined) {
      known.hits++
      known.lastMs = nowMs
    } else if (this.#uses.size < USES_LIMIT) {
      this.#uses.set(key, { domain, name, hits: 1, lastMs: nowMs })
    }
  }

  flush(): Promise<void> {
    const uses = [...this.#uses.values()]
    this.#uses.clear()
    this.#writing = this.#writing.then(async () => {
      try {
        for (let at = 0; at < uses.length; at += BATCH) {
          await addRedirectUses(this.#db, uses.slice(at, at + BATCH))
        }
      } catch (error) {
        this.#log.warn({ err: error }, 'uses of redirects could not be counted')
      }
    })
    return this.#writing
  }

  close(): Promise<void> {
    clearInterval(this.#timer)
    return this.flush()
  }
}
