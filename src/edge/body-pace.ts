import type { EdgeRequest } from './exchange.ts'

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
