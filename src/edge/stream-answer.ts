import type http from 'node:http'

import type { EdgeResponse } from './exchange.ts'
import { passedTrailers } from './forwarded-headers.ts'

/**
 * Streams the origin's answer, whose head has been written, to the client: read
 * only as fast as it is taken. An answer that breaks off breaks off the client's
 * too. By hand, as `stream.pipeline` costs as much processor time a request as
 * all else here: it makes an AbortController and aborts it at each end.
 */
export function streamAnswer(answer: http.IncomingMessage, res: EdgeResponse): void {
  const length = answer.headers['content-length']
  let leftBytes = length === undefined ? Number.NaN : Number(length)
  let ended = false
  answer.on('data', (part: Buffer) => {
    if (ended) return
    leftBytes -= part.length
    // Its last bytes are known by the length: they go out together with the end.
    if (leftBytes === 0) {
      ended = true
      res.end(part)
    } else if (!res.write(part)) answer.pause()
  })
  res.on('drain', () => answer.resume())
  answer.on('end', () => {
    if (ended) return
    ended = true
    res.addTrailers(passedTrailers(answer.rawTrailers))
    res.end()
  })
  answer.on('error', () => res.destroy())
  answer.on('close', () => {
    if (!ended) res.destroy()
  })
  flushEarly(answer, res)
}

/** Events that the origin announces and does not send yet: the client hears that they will come. */
function flushEarly(answer: http.IncomingMessage, res: EdgeResponse): void {
  if (answer.headers['content-length'] !== undefined) return
  let begun = false
  answer.once('data', () => {
    begun = true
  })
  // What stands right behind the head goes out with it.
  setImmediate(() => {
    if (!begun && !res.writableEnded && !res.destroyed) res.flushHeaders()
  })
}
