import http from 'node:http'
import type { Socket } from 'node:net'
import { parseStoreAddress, type StoreAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import { listening } from './loopback.ts'

/** How the store answers from now on. `silent`: not at all. */
type Mode = 'works' | 'silent' | { status: number; code: string }

export const NO_SUCH_KEY = '<Error><Code>NoSuchKey</Code></Error>'

/**
 * A server that takes, gives and deletes objects, and misbehaves on request: for what the client does with errors. It checks no
 * signature. That we speak S3 is shown with real stores, in test/fleet/bodies.long.test.ts.
 */
export class TestObjectStore {
  readonly objects = new Map<string, Buffer>()
  /** `PUT <object>` and so on. */
  readonly requests: string[] = []
  /** Objects that are not deleted. */
  readonly undeletable = new Set<string>()
  /** Objects whose GET is answered in part. */
  readonly stalled = new Set<string>()
  /** Objects whose GET is refused. */
  readonly refused = new Set<string>()
  /** Objects whose GET is not answered. */
  readonly unanswered = new Set<string>()
  readonly #sockets = new Set<Socket>()
  #deaf = new Set<Socket>()
  /** If it is not null, nothing is deleted, and this is the answer, with status 200. */
  deletionAnswer: string | null = null
  /** What a GET of a missing object is answered with, with status 404. */
  missingAnswer = NO_SUCH_KEY
  /** Called when an object was stored, before the answer. */
  stored: (object: string) => Promise<void> | void = () => {}
  mode: Mode = 'works'
  readonly #server: http.Server
  readonly port: number

  static async start(): Promise<TestObjectStore> {
    const server = http.createServer()
    return new TestObjectStore(server, await listening(server))
  }

  private constructor(server: http.Server, port: number) {
    this.#server = server
    this.port = port
    server.on('request', (req, res) => void this.#answer(req, res))
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  get setting(): string {
    return `s3+http://key:secret@127.0.0.1:${this.port}/bodies`
  }

  get address(): StoreAddress {
    const parsed = parseStoreAddress(this.setting)
    if (!('address' in parsed)) throw new Error(parsed.problem)
    return parsed.address
  }

  /** What comes on the connections of now is not answered any more, as if a firewall had forgotten them. */
  forgetConnections(): number {
    this.#deaf = new Set(this.#sockets)
    return this.#deaf.size
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of req) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces)
    const object = (req.url ?? '').replace(/^\/bodies\/?/, '')
    this.requests.push(`${req.method} ${object}`)
    if (this.mode === 'silent' || this.#deaf.has(req.socket)) return
    if (this.mode !== 'works') {
      res.writeHead(this.mode.status).end(`<Error><Code>${this.mode.code}</Code></Error>`)
      return
    }
    if (req.method === 'PUT') {
      this.objects.set(object, body)
      await this.stored(object)
      res.writeHead(200).end()
    } else if (req.method === 'GET' && this.unanswered.has(object)) {
      return
    } else if (req.method === 'GET' && this.refused.has(object)) {
      res.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
    } else if (req.method === 'GET' && this.stalled.has(object)) {
      res.writeHead(200, { 'content-length': 10 }).write('x')
    } else if (req.method === 'GET') {
      const found = this.objects.get(object)
      if (found !== undefined) res.writeHead(200).end(found)
      else res.writeHead(404).end(this.missingAnswer)
    } else if (this.deletionAnswer !== null) {
      res.writeHead(200).end(this.deletionAnswer)
    } else {
      const keys = [...String(body).matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!)
      const kept = keys.filter((key) => this.undeletable.has(key))
      for (const key of keys) if (!this.undeletable.has(key)) this.objects.delete(key)
      const errors = kept.map((key) => `<Error><Key>${key}</Key><Code>AccessDenied</Code></Error>`)
      res.writeHead(200).end(`<DeleteResult>${errors.join('')}</DeleteResult>`)
    }
  }
}
