import { headerLines } from './call.ts'

export const CHUNK_LINE_BYTES = 4_096
export const TRAILER_BYTES = 16 * 1024

type ChunksEnd = { flat: string[]; rest: Buffer }

// RFC 9112, section 7.1. A line break ends the line even inside a quoted extension.
const SIZE_LINE = /^([0-9A-Fa-f]{1,12})([\t ]*)(?:;[\t\x20-\x7e\x80-\xff]*)?$/
const LF = 0x0a

/** Reads a chunked body (RFC 9112, section 7.1). */
export class ChunkReader {
  /** The origin broke the standard, but unambiguously. */
  isOdd = false
  #leftBytes = 0
  #state: 'size' | 'data' | 'data-end' | 'trailers' = 'size'
  #waiting = ''

  /** Returns null if the body is not complete yet, or the text of an error. */
  push(bytes: Buffer, take: { data(part: Buffer): void }): ChunksEnd | string | null {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#leftBytes)
        this.#leftBytes -= end - at
        take.data(bytes.subarray(at, end))
        at = end
        if (this.#leftBytes === 0) this.#state = 'data-end'
        continue
      }
      const end = bytes.indexOf(LF, at)
      const line = this.#waiting + bytes.toString('latin1', at, end === -1 ? bytes.length : end + 1)
      if (line.length > (this.#state === 'trailers' ? TRAILER_BYTES : CHUNK_LINE_BYTES)) {
        return 'A line between the chunks of the answer is too long'
      }
      if (end === -1) {
        this.#waiting = line
        return null
      }
      at = end + 1
      if (!line.endsWith('\r\n')) this.isOdd = true
      if (this.#state === 'trailers') {
        this.#waiting = line
        if (!/(?:^|\n)\r?\n$/.test(line)) continue
        const flat = headerLines(line.replace(/\r?\n/g, '\r\n').slice(0, -2))
        return flat === null ? 'The trailers of the answer are malformed' : { flat, rest: bytes.subarray(at) }
      }
      this.#waiting = ''
      const wrong = this.#line(line.replace(/\r?\n$/, ''))
      if (wrong !== null) return wrong
    }
    return null
  }

  #line(line: string): string | null {
    if (this.#state === 'data-end') {
      this.#state = 'size'
      return line === '' ? null : 'A chunk of the answer is longer than it says'
    }
    const size = SIZE_LINE.exec(line)
    if (size === null) return 'The size of a chunk is malformed'
    if (size[2] !== '') this.isOdd = true
    this.#leftBytes = Number.parseInt(size[1]!, 16)
    this.#state = this.#leftBytes === 0 ? 'trailers' : 'data'
    return null
  }
}
