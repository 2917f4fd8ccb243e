import type { OutgoingHttpHeaders } from 'node:http'

import type { SentRequest } from '@prepaint/outbound/client'
import { isAlike, type SiteRequest } from './knowledge.ts'

/** A request sent before the page asked. Call `markWasted` when it has to be sent again. */
export type EarlyRequest = { sent: SentRequest; markWasted(): void }

type Waiting = EarlyRequest & { headers: OutgoingHttpHeaders; isBroken: boolean }

/** Per site: a browser's six HTTP/1.1 connections, and two. */
const MOST_EARLY = 8

export class EarlyRequests {
  readonly #send: (request: SiteRequest) => SentRequest
  readonly #waiting = new Map<string, Waiting>()

  constructor(send: (request: SiteRequest) => SentRequest) {
    this.#send = send
  }

  get isFull(): boolean {
    return this.#waiting.size >= MOST_EARLY
  }

  has(path: string): boolean {
    return this.#waiting.has(path)
  }

  /** Throws on an invalid path or header. */
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
    // Not read until the page takes it, so the connection holds it back.
    early.sent.response.then(({ body }) => body.on('error', fail), fail)
    this.#waiting.set(request.path, early)
  }

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
