import type { AnswerHead } from './answer-reader.ts'
import type { EdgeResponse } from './exchange.ts'
import { passedTrailers } from './forwarded-headers.ts'
import type { TakeCall } from './origin-call.ts'

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
