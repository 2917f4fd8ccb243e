import type { Duplex } from 'node:stream'

/**
 * Joins two connected streams until either ends. `receive` is told of every
 * chunk that comes from `far` and may end the tunnel by saying false.
 */
export function tunnel(
  near: Duplex,
  far: Duplex,
  { receive, idleTimeoutMs }: { receive(bytes: number): boolean; idleTimeoutMs: number },
): void {
  const end = () => {
    clearTimeout(idle)
    near.destroy()
    far.destroy()
  }
  const idle = setTimeout(end, idleTimeoutMs)
  near.on('data', (chunk: Buffer) => {
    idle.refresh()
    if (!far.write(chunk)) near.pause()
  })
  far.on('data', (chunk: Buffer) => {
    idle.refresh()
    if (!receive(chunk.length)) end()
    else if (!near.write(chunk)) far.pause()
  })
  near.on('drain', () => far.resume()).on('end', () => far.end())
  far.on('drain', () => near.resume()).on('end', () => near.end())
  for (const side of [near, far]) side.on('error', end).on('close', end)
  near.resume()
  far.resume()
}
