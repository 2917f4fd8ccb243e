import type { OutgoingHttpHeaders } from 'node:http'

import type { SentRequest } from '../../outbound/client/request.ts'
import { isAlike, type SiteRequest } from './knowledge.ts'

/** A request that was sent before the page asked for it. `markWasted`: it is sent once more all the same. */
export type EarlyRequest = { sent: SentRequest; markWasted(): void }

type Waiting = EarlyRequest & { headers: OutgoingHttpHeaders; isBroken: boolean }

/** As many as a browser opens connections to a host of HTTP/1.1, and two. */
const MOST_EARLY = 8

/** Requests to a site's origin that wait for its page to ask for them, by path. */
export class EarlyRequests {
  readonly #send: (request: SiteRequest) => SentRequest
  readonly #waiting = new Map<string, Waiting>()

  /** `send`: to the origin, or throws. */
  constructor(send: (request: SiteRequest) => SentRequest) {
    this.#send = send
  }

  get isFull(): boolean {
    return this.#waiting.size >= MOST_EARLY
  }

  has(path: string): boolean {
    return this.#waiting.has(path)
  }

  /** Throws on a path or header that no request can have. */
  send(request: SiteRequest, markWasted: () => void): void {
    const early: Waiting = {
      sent: this.#send(request),
      headers: request.headers,
      isBroken: false,
      markWasted,
    }
    const fail = () => {
      early.isBroken = true
    }
    // Nothing is read before the page takes it; until then its connection holds it back.
    early.sent.response.then(({ body }) => body.on('error', fail), fail)
    this.#waiting.set(request.path, early)
  }

  /** The response to a request of the page, if the same request was sent, to the last header. */
  take({ path, headers }: SiteRequest): EarlyRequest | undefined {
    const early = this.#waiting.get(path)
    if (early === undefined) return undefined
    this.#waiting.delete(path)
    if (!early.isBroken && isAlike(early.headers, headers)) return early
    early.sent.call.destroy()
    early.markWasted()
    return undefined
  }

  end(): void {
    for (const { sent } of this.#waiting.values()) sent.call.destroy()
    this.#waiting.clear()
  }
}
