import type { AnswerHead, TakeCall } from '@prepaint/outbound/client'
import { passedTrailers } from '@prepaint/outbound/headers'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'

/** Streams with back-pressure, without Node's streams, which cost more than the rest of a request. */
export function createAnswerStream(
  res: EdgeResponse,
  resume: () => void,
): Pick<TakeCall, 'data' | 'end'> & { begin(head: AnswerHead): void } {
  let leftBytes: number | null = null
  let begun = false
  let ended = false
  let waits = false
  const drained = () => {
    waits = false
    resume()
  }
  return {
    begin({ bodyBytes }) {
      leftBytes = bodyBytes
      if (bodyBytes !== null) return
      // Send the head alone if no data follows at once, as with server-sent events.
      setImmediate(() => {
        if (!begun && !ended && !res.destroyed) res.flushHeaders()
      })
    },
    data(part) {
      // The client's disconnect is reported later.
      if (res.destroyed) return true
      begun = true
      if (leftBytes !== null) leftBytes -= part.length
      // The length shows the last bytes: send them together with the end.
      if (leftBytes === 0) {
        ended = true
        res.end(part)
        return true
      }
      if (res.write(part)) return true
      if (!waits) res.once('drain', drained)
      waits = true
      return false
    },
    end(trailers) {
      if (ended || res.destroyed) return
      ended = true
      if (trailers.length > 0) res.addTrailers(passedTrailers(trailers))
      res.end()
    },
  }
}

/** Slower bodies only occupy a connection. */
export const LEAST_BYTES_PER_SECOND = 500

/**
 * Calls `tooSlow` once when a body is slower than that for `lookEveryMs`, because it occupies an origin connection.
 * Time in which the origin does not read is excluded.
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
    if (origin.isOver) return stop()
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
