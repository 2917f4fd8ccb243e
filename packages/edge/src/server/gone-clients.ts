import type { Socket } from 'node:net'
import type { Clock } from '@prepaint/runtime/clock.ts'

/** What Node keeps of a TCP connection, which its types omit. */
type Handle = {
  /** Bytes that the kernel has not taken yet. */
  writeQueueSize: number
  bytesRead: number
  /** Returns 0, or a negative error number when the kernel has no peer for the connection any more. */
  getpeername(address: object): number
}

type Watched = { queuedBytes: number; readBytes: number; sinceMs: number }

/** The kernel is asked about each connection this often. */
const ROUND_MS = 4_000
/** A round is cut into so many parts, because asking takes some 5 µs a connection. */
const PARTS = 16

/**
 * Ends TCP connections whose client is gone without an event that tells so. Node hears nothing of a connection that it
 * does not read, and an HTTP/2 session over TLS that fails to write waits for ever
 * (https://github.com/nodejs/node/issues/50884). Ending the connection below ends sessions, streams and calls to origins.
 */
export class GoneClients {
  readonly #clock: Clock
  readonly #stuckMs: number
  readonly #connections = new Map<Socket, Watched>()
  #timer: NodeJS.Timeout | undefined
  /** Connections of this round that are still to be asked about. */
  #left = this.#connections.entries()

  /** A client that takes nothing of what waits for it, and sends nothing, is gone after `stuckMs`. */
  constructor(clock: Clock, stuckMs: number) {
    this.#clock = clock
    this.#stuckMs = stuckMs
  }

  /** `socket` is the TCP connection, below TLS. */
  watch(socket: Socket): void {
    this.#connections.set(socket, { queuedBytes: 0, readBytes: 0, sinceMs: this.#clock.nowMs() })
    socket.once('close', () => this.#forget(socket))
    this.#timer ??= setInterval(() => this.#look(), ROUND_MS / PARTS).unref()
  }

  #forget(socket: Socket): void {
    this.#connections.delete(socket)
    if (this.#connections.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const nowMs = this.#clock.nowMs()
    for (let part = Math.ceil(this.#connections.size / PARTS); part > 0; part--) {
      const next = this.#left.next()
      if (next.done === true) {
        this.#left = this.#connections.entries()
        return
      }
      const [socket, watched] = next.value
      const handle = handleOf(socket)
      if (handle === null) this.#forget(socket)
      else if (handle.getpeername({}) !== 0 || this.#isStuck(handle, watched, nowMs)) socket.destroy()
    }
  }

  /** Remembers how far the connection is. */
  #isStuck(handle: Handle, watched: Watched, nowMs: number): boolean {
    const { writeQueueSize, bytesRead } = handle
    const isSame = writeQueueSize === watched.queuedBytes && bytesRead === watched.readBytes
    if (!isSame || writeQueueSize === 0) {
      watched.queuedBytes = writeQueueSize
      watched.readBytes = bytesRead
      watched.sinceMs = nowMs
      return false
    }
    return nowMs - watched.sinceMs >= this.#stuckMs
  }
}

/** Returns null for a connection that has ended. */
function handleOf(socket: Socket): Handle | null {
  return (socket as Socket & { _handle?: Handle | null })._handle ?? null
}
