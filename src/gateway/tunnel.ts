import type { Duplex } from 'node:stream'

/**
 * Joins two connected streams until both have ended. `receive` is told of every
 * chunk that comes from `far` and ends the tunnel by saying false.
 */
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
      // What this side sent before it ended may still be on its way through the other.
      if (side.readableEnded && !other.destroyed) other.end(breakOff)
      else breakOff()
    })
  }
  near.resume()
  far.resume()
}
