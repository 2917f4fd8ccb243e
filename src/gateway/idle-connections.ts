import type { Duplex } from 'node:stream'

import { type Clock, systemClock } from '../clock.ts'

/** Which kept connections are in use by nobody, and since when. Pools take the one that was used last. */
export function createIdleConnections(clock: Clock = systemClock) {
  const targets = new WeakMap<Duplex, string>()
  const idle = new Map<string, Map<Duplex, number>>()

  function ends(connection: Duplex): void {
    const target = targets.get(connection)
    if (target === undefined) return
    const among = idle.get(target)
    among?.delete(connection)
    if (among?.size === 0) idle.delete(target)
  }

  return {
    /** A new connection, which is in use. */
    know(connection: Duplex, target: string): void {
      targets.set(connection, target)
      connection.once('close', () => ends(connection))
    },
    begins(connection: Duplex): void {
      const target = targets.get(connection)
      if (target === undefined || connection.destroyed) return
      const among = idle.get(target) ?? new Map<Duplex, number>()
      // Behind all others, also when it has stood there before.
      among.delete(connection)
      idle.set(target, among.set(connection, clock.nowMs()))
    },
    ends,
    /** Ends those to a target, unless the one that would be taken next was in use within the last `idleMs`. */
    drop(target: string, idleMs: number): void {
      const among = idle.get(target)
      if (among === undefined) return
      const last = Math.max(...among.values())
      if (clock.nowMs() - last < idleMs) return
      for (const connection of among.keys()) connection.destroy()
      idle.delete(target)
    },
  }
}
