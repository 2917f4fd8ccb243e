import type { AnswerHead } from '../../outbound/client/answer-reader.ts'
import type { TakeCall } from '../../outbound/client/call.ts'
import { passedTrailers } from '../../outbound/headers.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'

/**
 * Streams the origin's answer, whose head has been written, to the client: read
 * only as fast as it is taken. Without streams of node's between, as those cost
 * more than all else of a request.
 */
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
      // Events that the origin announces and does not send yet: the client hears that they will come.
      // What stands right behind the head goes out with it.
      setImmediate(() => {
        if (!begun && !ended && !res.destroyed) res.flushHeaders()
      })
    },
    data(part) {
      // A client that has gone is heard of a moment later.
      if (res.destroyed) return true
      begun = true
      if (leftBytes !== null) leftBytes -= part.length
      // Its last bytes are known by the length: they go out together with the end.
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

/** Slower than any modem: whoever sends a body at this pace wants the connection, not the answer. */
export const LEAST_BYTES_PER_SECOND = 500

/**
 * Calls `tooSlow` once when the body of a request does not bring that many bytes
 * in each period of `lookEveryMs`. A connection to the origin is held meanwhile,
 * and there are few of them. While the origin itself takes nothing, nobody else
 * is to blame.
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
