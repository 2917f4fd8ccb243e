import { DatabaseError } from '../connection.ts'
import { END_OF_ROWS } from './backup.ts'

const LINE_FEED = 10
const NOTHING = Buffer.alloc(0)
const END = Buffer.from(END_OF_ROWS)
const END_AFTER_ROW = Buffer.from(`\n${END_OF_ROWS}`)

/** Takes a backup apart as it comes: lines, and rows that are handed on in pieces of any size. */
export class BackupReader {
  readonly #pieces: AsyncIterator<Buffer>
  /** What was read and not taken yet. */
  #held: Buffer = NOTHING

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Returns the next line without its end, or null if there is none, or if the backup is cut off within it. */
  async nextLine(): Promise<string | null> {
    const parts: Buffer[] = []
    for (;;) {
      const at = this.#held.indexOf(LINE_FEED)
      if (at !== -1) {
        parts.push(this.#held.subarray(0, at))
        this.#held = this.#held.subarray(at + 1)
        return Buffer.concat(parts).toString()
      }
      parts.push(this.#held)
      this.#held = NOTHING
      if (!(await this.#readMore())) return null
    }
  }

  /** Yields the rows of a table, without the line that ends them. Throws DatabaseError if that line is missing. */
  async *rows(): AsyncGenerator<Buffer> {
    let isAtStart = true
    for (;;) {
      if (isAtStart && this.#held.subarray(0, END.length).equals(END)) {
        this.#held = this.#held.subarray(END.length)
        return
      }
      const at = this.#held.indexOf(END_AFTER_ROW)
      if (at !== -1) {
        const last = this.#held.subarray(0, at + 1)
        this.#held = this.#held.subarray(at + END_AFTER_ROW.length)
        yield last
        return
      }
      // The rest may be the beginning of the end.
      const most = this.#held.length - (END_AFTER_ROW.length - 1)
      if (most > 0) {
        const rows = this.#held.subarray(0, most)
        this.#held = this.#held.subarray(most)
        isAtStart = false
        yield rows
      }
      if (!(await this.#readMore())) throw new DatabaseError('The backup is incomplete.')
    }
  }

  /** Returns false at the end of the backup. */
  async #readMore(): Promise<boolean> {
    const next = await this.#pieces.next()
    if (next.done === true) return false
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value])
    return true
  }
}
