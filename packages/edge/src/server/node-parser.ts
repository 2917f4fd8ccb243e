import type http from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { canEncodeTarget } from './simple-head.ts'

/** Node tells which response is under way in this field only. */
export type AnsweringSocket = Duplex & { _httpMessage?: http.ServerResponse | null }

type Listening = { event: string | symbol; listener: (...given: unknown[]) => void }

/** Node replaces these methods of a socket that its parser reads. */
const REPLACED = ['on', 'addListener', 'prependListener', 'setEncoding']

/** Lets Node's parser read connections, and takes back one whose parser has given up. */
export class NodeParser {
  readonly #server: http.Server
  readonly #take: readonly ((socket: Socket) => void)[]
  readonly #added = new WeakMap<Socket, Listening[]>()

  /** Removes the server's own listeners of connections: it reads what is handed over only. */
  constructor(server: http.Server) {
    this.#server = server
    this.#take = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
  }

  handOver(socket: Socket): void {
    const before = new Set(listenersOf(socket).map(({ listener }) => listener))
    for (const take of this.#take) take.call(this.#server, socket)
    this.#added.set(
      socket,
      listenersOf(socket).filter(({ listener }) => !before.has(listener)),
    )
  }

  /**
   * Calls `readOn` with the connection and the request at which its parser gave up, once the responses before it are
   * sent. Returns false if that request cannot be read otherwise either.
   */
  takeBack(error: Unreadable, socket: Duplex, readOn: (socket: Socket, request: Buffer) => void): boolean {
    const request = requestWithBytes(error)
    if (request === null || !canEncodeTarget(request)) return false
    if (!(socket instanceof Socket) || !this.#added.has(socket)) return false
    socket.pause()
    whenAnswered(socket, () => {
      this.#release(socket)
      readOn(socket, request)
    })
    return true
  }

  #release(socket: Socket): void {
    const added = this.#added.get(socket) ?? []
    this.#added.delete(socket)
    for (const name of REPLACED) Reflect.deleteProperty(socket, name)
    for (const { event, listener } of added) {
      socket.off(event, listener)
      // Node has stopped reading with `pause`, and frees its parser when the connection is gone.
      if (event === 'resume' || event === 'close') listener.call(socket)
    }
  }
}

function listenersOf(socket: Socket): Listening[] {
  return socket
    .eventNames()
    .flatMap((event) =>
      socket.listeners(event).map((listener) => ({ event, listener: listener as Listening['listener'] })),
    )
}

/** Does nothing if the connection ends with its last response. */
function whenAnswered(socket: Socket & AnsweringSocket, then: () => void): void {
  const response = socket._httpMessage
  if (socket.destroyed || socket.writableEnded) return
  if (response) response.once('close', () => whenAnswered(socket, then))
  else then()
}

type Unreadable = NodeJS.ErrnoException & { bytesParsed?: number; rawPacket?: Buffer }

/**
 * No other method ends with one of these, and none of these ends with another method. So where the parser has read a
 * method that ends like this, it is the whole one: neither half of another, nor with the end of a body before it.
 */
const METHOD_AT_END = /(?:GET|HEAD|POST|PUT|DELETE|OPTIONS)$/
const LONGEST_METHOD = 'OPTIONS'.length
const SPACE = 0x20

/** Returns what has arrived from a request on whose target Node's parser refuses, or null if it refuses something else. */
function requestWithBytes({ code, bytesParsed = 0, rawPacket }: Unreadable): Buffer | null {
  if (code !== 'HPE_INVALID_URL' || rawPacket === undefined) return null
  if ((rawPacket[bytesParsed] ?? 0) < 0x80) return null
  // A target has no space.
  const end = rawPacket.lastIndexOf(SPACE, bytesParsed)
  if (end === -1) return null
  const method = METHOD_AT_END.exec(rawPacket.toString('latin1', Math.max(0, end - LONGEST_METHOD), end))
  // A copy: Node's parser reuses its memory.
  return method === null ? null : Buffer.from(rawPacket.subarray(end - method[0].length))
}
