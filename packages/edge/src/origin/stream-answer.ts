import type { AnswerHead } from '@prepaint/outbound/client'
import { passedTrailers } from '@prepaint/outbound/headers'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'

/** Streams a response with back-pressure, without Node's streams, which cost more than the rest of a request. */
export class AnswerStream {
  readonly #res: EdgeResponse
  readonly #resume: () => void
  #leftBytes: number | null = null
  #hasData = false
  #hasEnded = false
  #waits = false

  /** `resume` is called when the client has read enough after `data` returned false. */
  constructor(res: EdgeResponse, resume: () => void) {
    this.#res = res
    this.#resume = resume
  }

  /** Call when the head was written. */
  begin({ bodyBytes }: AnswerHead): void {
    this.#leftBytes = bodyBytes
    if (bodyBytes !== null) return
    // Send the head alone if no data follows at once, as with server-sent events.
    setImmediate(() => {
      if (!this.#hasData && !this.#hasEnded && !this.#res.destroyed) this.#res.flushHeaders()
    })
  }

  /** Returns false if the origin must wait for `resume`. */
  data(part: Buffer): boolean {
    // The client's disconnect is reported later.
    if (this.#res.destroyed) return true
    this.#hasData = true
    if (this.#leftBytes !== null) this.#leftBytes -= part.length
    // The length shows the last bytes: send them together with the end.
    if (this.#leftBytes === 0) {
      this.#hasEnded = true
      this.#res.end(part)
      return true
    }
    if (this.#res.write(part)) return true
    this.#waitForDrain()
    return false
  }

  end(trailers: string[]): void {
    if (this.#hasEnded || this.#res.destroyed) return
    this.#hasEnded = true
    if (trailers.length > 0) this.#res.addTrailers(passedTrailers(trailers))
    this.#res.end()
  }

  #waitForDrain(): void {
    if (this.#waits) return
    this.#waits = true
    this.#res.once('drain', () => {
      this.#waits = false
      this.#resume()
    })
  }
}

/** A slower body only occupies a connection of the origin. */
export const LEAST_BYTES_PER_SECOND = 500

/**
 * Calls `tooSlow` once when a body is slower than `LEAST_BYTES_PER_SECOND` for `lookEveryMs`. Time in which the origin does
 * not read is excluded.
 */
export function watchBodyPace(
  req: EdgeRequest,
  origin: { readonly isOver: boolean; readonly needsDrain: boolean },
  lookEveryMs: number,
  tooSlow: () => void,
): void {
  let bytes = 0
  const least = (LEAST_BYTES_PER_SECOND * lookEveryMs) / 1_000
  const look = setInterval(() => {
    if (origin.isOver) {
      stop()
      return
    }
    if (bytes < least && !origin.needsDrain) {
      stop()
      tooSlow()
    }
    bytes = 0
  }, lookEveryMs)
  const stop = () => clearInterval(look)
  req.on('data', (part: Buffer) => {
    bytes += part.length
  })
  req.once('end', stop).once('close', stop)
}
