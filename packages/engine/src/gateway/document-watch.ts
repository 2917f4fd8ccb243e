import type http from 'node:http'
import type { GivenDocument } from './documents.ts'
import type { EarlyRequest } from './preload/early-requests.ts'
import { isAlike } from './preload/knowledge.ts'

/**
 * Sees the document before the browser. With `false` the browser gets 204. With `again` it gets the document, and the
 * next one is judged, too. `path` includes the query.
 */
export type DocumentJudge = (
  status: number,
  headers: http.OutgoingHttpHeaders,
  path: string,
) => boolean | 'again'

type JudgeResponse = (status: number, headers: http.OutgoingHttpHeaders) => boolean

/** Scripts cannot set this value of `Sec-Fetch-Dest`: `Sec-` headers are reserved for the browser. */
const MAIN_DOCUMENT = 'document'

/** Shows responses to document requests to a judge, before the browser gets them. */
export class DocumentWatch {
  readonly #learn: (headers: http.OutgoingHttpHeaders) => void
  #next: DocumentJudge | null = null
  #waiting: GivenDocument | undefined

  /** `learn` hears the request headers of each watched document. */
  constructor(learn: (headers: http.OutgoingHttpHeaders) => void) {
    this.#learn = learn
  }

  /** Watches the first document request from now on; null stops. `given` answers it if it asks in the same words. */
  judgeNext(judge: DocumentJudge | null, given?: GivenDocument): void {
    this.#next = judge
    this.#waiting?.sent.call.destroy()
    this.#waiting = given
  }

  /** Call when a request arrives, with its `Sec-Fetch-Dest`. Returns undefined if there is nothing to judge. */
  judgeOf(destination: string | string[] | undefined, path: string): JudgeResponse | undefined {
    const judge = this.#next
    if (judge === null || destination !== MAIN_DOCUMENT) return undefined
    return (status, headers) => {
      if (this.#next !== judge) return true
      this.#next = null
      const judged = judge(status, headers, path)
      if (judged === 'again') this.#next ??= judge
      return judged !== false
    }
  }

  /** Call once for the request that `judge` is about. Returns undefined if the request must be sent. */
  takeEarly(
    judge: JudgeResponse | undefined,
    method: string,
    headers: http.OutgoingHttpHeaders,
  ): EarlyRequest | undefined {
    if (judge === undefined || method !== 'GET') return undefined
    this.#learn(headers)
    const given = this.#waiting
    this.#waiting = undefined
    if (given === undefined || isAlike(given.headers, headers)) return given
    given.sent.call.destroy()
    return undefined
  }
}
