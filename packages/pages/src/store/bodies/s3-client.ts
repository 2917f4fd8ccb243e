import { createHash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import aws4 from 'aws4'
import { hostOf, type StoreAddress } from './store-address.ts'

export const SOCKETS = 64
const CONNECT_MS = 500
/** A connection that is not used for so long is closed, before something on the way forgets it. */
const IDLE_MS = 5_000
/** With less time left, nothing is asked again. */
const LEAST_RETRY_MS = 20
/** An answer that is no body: an error, or what was deleted of a thousand keys. */
const ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
/** The most keys of one DeleteObjects. */
const MOST_DELETED = 1_000
/** With so few keys, a store that is late has another reason. */
const LEAST_DELETED = 50

/** The store did not answer in time, or says that it cannot answer now. */
export class StoreUnreachable extends Error {
  override name = 'StoreUnreachable'
  /** It did not answer in time. A smaller request may be answered. */
  readonly isLate: boolean

  constructor(message: string, { isLate = false, ...options }: ErrorOptions & { isLate?: boolean } = {}) {
    super(message, options)
    this.isLate = isLate
  }
}

/** The store had begun to take or give this object, and did not end in time, or gave too much: others may come well. */
export class TransferFailed extends StoreUnreachable {
  override name = 'TransferFailed'
}

/** The store refused the request. `code` is that of its answer, such as `AccessDenied`. */
export class StoreRefused extends Error {
  override name = 'StoreRefused'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(`status ${status}${code === '' ? '' : ` ${code}`}`)
    this.status = status
    this.code = code
  }
}

/** How many keys a DeleteObjects has: half as many after one that was not answered in time, and an eighth more after each other one. */
export class DeletionSize {
  #keys = MOST_DELETED

  get keys(): number {
    return this.#keys
  }

  worked(): void {
    this.#keys = Math.min(MOST_DELETED, this.#keys + Math.ceil(this.#keys / 8))
  }

  /** Returns false if the next one would have no fewer than these keys. */
  wasLate(keys: number): boolean {
    if (keys <= LEAST_DELETED) return false
    this.#keys = Math.max(LEAST_DELETED, Math.floor(keys / 2))
    return true
  }
}

export type StoreOperation = 'put' | 'get' | 'delete'

/** What is told of each request: its time, and whether it failed. */
export type RequestMeter = (operation: StoreOperation, seconds: number, isFailed: boolean) => void

type Answer = { status: number; body: Buffer }
type Sent = {
  method: 'PUT' | 'GET' | 'POST'
  /** The object, or null for the bucket. */
  object: string | null
  query?: string
  headers?: Record<string, string>
  body?: Buffer
  withinMs: number
  limitBytes?: number
  /** Repeats the request once if it did not get an answer, and time is left. */
  isRetried?: boolean
}

/**
 * The three requests that all S3-compatible stores share: PUT, GET and DeleteObjects. Signed by `aws4` with the payload's
 * SHA-256. Objects are named without the prefix of the setting. Redirects of the store count as refusals.
 */
export class S3Client {
  readonly address: StoreAddress
  readonly #agent: http.Agent
  readonly #meter: RequestMeter

  constructor(address: StoreAddress, meter: RequestMeter = () => {}) {
    this.address = address
    this.#meter = meter
    const options = { keepAlive: true, maxSockets: SOCKETS, maxFreeSockets: SOCKETS, timeout: IDLE_MS }
    this.#agent = address.isSecure ? new https.Agent(options) : new http.Agent(options)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Rejects with StoreUnreachable or StoreRefused. `sha256`: of the body, in hexadecimal digits. */
  async put(object: string, body: Buffer, sha256: string, withinMs: number): Promise<void> {
    const headers = { 'Content-Type': 'application/octet-stream', 'X-Amz-Content-Sha256': sha256 }
    await this.#measured('put', { method: 'PUT', object, headers, body, withinMs })
  }

  /** Returns null if the bucket has no such object. Rejects with StoreUnreachable or StoreRefused. */
  async get(object: string, limitBytes: number, withinMs: number): Promise<Buffer | null> {
    const sent: Sent = { method: 'GET', object, limitBytes, withinMs, isRetried: true }
    try {
      return (await this.#measured('get', sent)).body
    } catch (error) {
      if (isMissingObject(error)) return null
      throw error
    }
  }

  /** Deletes at most a thousand objects. Returns those that could not be deleted. Missing ones count as deleted. Rejects with StoreUnreachable or StoreRefused. */
  async deleteAll(objects: readonly string[], withinMs: number): Promise<Set<string>> {
    const { prefix } = this.address
    const named = objects.map((object) => `<Object><Key>${escapeXml(prefix + object)}</Key></Object>`)
    const body = Buffer.from(`<Delete><Quiet>true</Quiet>${named.join('')}</Delete>`)
    const headers = {
      'Content-Type': 'application/xml',
      // S3 requires it for this request; checksum trailers are not known everywhere.
      'Content-MD5': createHash('md5').update(body).digest('base64'),
      'X-Amz-Content-Sha256': createHash('sha256').update(body).digest('hex'),
    }
    const sent: Sent = { method: 'POST', object: null, query: 'delete=', headers, body, withinMs }
    const answer = String((await this.#measured('delete', sent)).body)
    // Some stores begin to answer with 200 before they know how it ends.
    if (!DELETE_RESULT.test(answer)) {
      throw new StoreUnreachable(`status 200 without a result ${textOf(answer, 'Code')}`.trimEnd())
    }
    const failed = new Set<string>()
    for (const [, error = ''] of answer.matchAll(/<Error>([\s\S]*?)<\/Error>/g)) {
      if (textOf(error, 'Code') === 'NoSuchKey') continue
      const object = unescapeXml(textOf(error, 'Key')).slice(prefix.length)
      // Which one was not deleted is unknown.
      if (!objects.includes(object)) return new Set(objects)
      failed.add(object)
    }
    return failed
  }

  async #measured(operation: StoreOperation, sent: Sent): Promise<Answer> {
    const startedAt = systemStopwatch()
    let isFailed = true
    try {
      const answer = await this.#send(sent)
      isFailed = false
      return answer
    } catch (error) {
      isFailed = !isMissingObject(error)
      throw error
    } finally {
      this.#meter(operation, systemStopwatch() - startedAt, isFailed)
    }
  }

  async #send(sent: Sent): Promise<Answer> {
    const endsAt = systemStopwatch() + sent.withinMs / 1_000
    for (let tries = 1; ; tries++) {
      const leftMs = (endsAt - systemStopwatch()) * 1_000
      try {
        return checked(await this.#sendOnce(sent, Math.max(1, leftMs)))
      } catch (error) {
        // A store may close an idle connection in the moment in which it is used again.
        const isStale = error instanceof LostConnection && error.wasReused
        const mayRetry =
          tries === 1 && (isStale || (sent.isRetried === true && error instanceof StoreUnreachable))
        if (!mayRetry || (endsAt - systemStopwatch()) * 1_000 < LEAST_RETRY_MS) throw error
      }
    }
  }

  #sendOnce(
    { method, object, query, headers, body, limitBytes = ANSWER_LIMIT_BYTES }: Sent,
    withinMs: number,
  ) {
    const { isSecure, hostname, port, bucket, prefix, region, isVirtual, key, secret } = this.address
    const inBucket = object === null ? '' : prefix + object
    const path = isVirtual ? `/${inBucket}` : `/${bucket}/${inBucket}`
    const host = isVirtual ? `${bucket}.${hostOf(this.address)}` : hostOf(this.address)
    const signed = aws4.sign(
      {
        service: 's3',
        region,
        method,
        host,
        path: `${object === null && !isVirtual ? path.slice(0, -1) : path}${query === undefined ? '' : `?${query}`}`,
        headers: { ...headers, Host: host, 'Content-Length': String(body?.length ?? 0) },
        body,
      },
      { accessKeyId: key, secretAccessKey: secret },
    )
    const options: https.RequestOptions = {
      agent: this.#agent,
      method,
      host: isVirtual ? `${bucket}.${hostname}` : hostname,
      port: port ?? (isSecure ? 443 : 80),
      path: signed.path,
      headers: signed.headers as Record<string, string>,
    }
    return new Promise<Answer>((resolve, reject) => {
      const request = isSecure ? https.request(options) : http.request(options)
      let isConnected = false
      let isAnswered = false
      const late = setTimeout(() => {
        const isTransferred = isAnswered || (isConnected && !request.writableFinished)
        const Late = isTransferred ? TransferFailed : StoreUnreachable
        const what = isAnswered ? 'end of the answer' : 'answer'
        request.destroy(new Late(`no ${what} in ${Math.round(withinMs)} ms`, { isLate: true }))
      }, withinMs)
      let connecting: NodeJS.Timeout | undefined
      const end = (settle: () => void) => {
        clearTimeout(late)
        clearTimeout(connecting)
        settle()
      }
      request.once('socket', (socket) => {
        isConnected = !socket.connecting
        if (isConnected) return
        connecting = setTimeout(
          () => request.destroy(new StoreUnreachable(`no connection in ${CONNECT_MS} ms`)),
          CONNECT_MS,
        )
        socket.once('connect', () => clearTimeout(connecting))
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          isConnected = true
        })
      })
      const fail = (error: NodeJS.ErrnoException) => {
        // The other connections that are kept have probably died with it, as when a firewall forgot them.
        if (request.reusedSocket && !isAnswered) this.#closeIdle()
        const isOurs = error instanceof StoreUnreachable
        const lost = isAnswered
          ? new TransferFailed('the answer was cut off', { cause: error })
          : new LostConnection(error, request.reusedSocket)
        end(() => reject(isOurs ? error : lost))
      }
      request.on('error', fail)
      request.once('response', (response) => {
        isAnswered = true
        const pieces: Buffer[] = []
        let bytes = 0
        const mostBytes = response.statusCode === 200 ? limitBytes : ANSWER_LIMIT_BYTES
        response.on('error', fail)
        response.on('data', (piece: Buffer) => {
          bytes += piece.length
          if (bytes > mostBytes) request.destroy(new TransferFailed('an answer is longer than expected'))
          else pieces.push(piece)
        })
        response.once('end', () => {
          if (!response.complete) return
          end(() => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces) }))
        })
        response.once('close', () => {
          if (!response.complete) end(() => reject(new TransferFailed('the answer was cut off')))
        })
      })
      request.end(body)
    })
  }

  #closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy()
    }
  }
}

class LostConnection extends StoreUnreachable {
  readonly wasReused: boolean

  constructor(cause: NodeJS.ErrnoException, wasReused: boolean) {
    super(cause.code ?? cause.message, { cause })
    this.wasReused = wasReused
  }
}

/** A missing bucket is not a missing object. Some stores give no code. */
function isMissingObject(error: unknown): boolean {
  return error instanceof StoreRefused && error.status === 404 && error.code !== 'NoSuchBucket'
}

/** Statuses with which stores say that they cannot answer now. */
function isForNow(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

function checked(answer: Answer): Answer {
  const { status, body } = answer
  if (status >= 200 && status < 300) return answer
  const code = textOf(String(body.subarray(0, 8_192)), 'Code')
  if (isForNow(status)) throw new StoreUnreachable(`status ${status}${code === '' ? '' : ` ${code}`}`)
  throw new StoreRefused(status, code)
}

function textOf(xml: string, element: string): string {
  return new RegExp(`<${element}>([^<]{0,2000})</${element}>`).exec(xml)?.[1] ?? ''
}

const DELETE_RESULT = /^\uFEFF?\s*(<\?xml[^>]*>\s*)?<DeleteResult[\s/>]/

const ENTITIES: readonly (readonly [character: string, entity: string])[] = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
]

function escapeXml(text: string): string {
  return ENTITIES.reduce((escaped, [character, entity]) => escaped.replaceAll(character, entity), text)
}

function unescapeXml(text: string): string {
  return ENTITIES.reduceRight((plain, [character, entity]) => plain.replaceAll(entity, character), text)
}
