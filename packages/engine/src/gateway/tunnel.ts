import type { Duplex } from 'node:stream'

/** Joins two sockets until both end. `receive` gets every chunk from `far` and returns false to cut the tunnel. */
export function tunnel(
  near: Duplex,
  far: Duplex,
  { receive, idleTimeoutMs }: { receive(bytes: number): boolean; idleTimeoutMs: number },
): void {
  const breakOff = () => {
    clearTimeout(idle)
    near.destroy()
    far.destroy()
  }
  const idle = setTimeout(breakOff, idleTimeoutMs)

  near.on('data', (chunk: Buffer) => {
    idle.refresh()
    if (!far.write(chunk)) near.pause()
  })
  far.on('data', (chunk: Buffer) => {
    idle.refresh()
    if (!receive(chunk.length)) breakOff()
    else if (!near.write(chunk)) far.pause()
  })
  for (const [side, other] of [
    [near, far],
    [far, near],
  ] as const) {
    side.on('drain', () => other.resume())
    side.on('end', () => other.end())
    side.on('error', breakOff)
    side.on('close', () => {
      // Bytes this side sent before its end may still be in transit.
      if (side.readableEnded && !other.destroyed) other.end(breakOff)
      else breakOff()
    })
  }
  near.resume()
  far.resume()
}
