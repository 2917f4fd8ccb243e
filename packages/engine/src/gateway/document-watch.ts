import type http from 'node:http'
import type { GivenDocument } from './documents.ts'
import type { EarlyRequest } from './preload/early-requests.ts'
import { isAlike } from './preload/knowledge.ts'

/**
 * Sees the document before the browser. `false`: the browser gets 204. `again`: the browser gets it, and the next
 * document is judged, too. `path` includes the query.
 */
export type DocumentJudge = (
  status: number,
  headers: http.OutgoingHttpHeaders,
  path: string,
) => boolean | 'again'

export type DocumentWatch = {
  /** Watches the first document request from now on; null stops. `given` answers it if it asks in the same words. */
  judgeNext(judge: DocumentJudge | null, given?: GivenDocument): void
  /** Call when a request arrives. undefined: nothing to judge. `destination`: its `Sec-Fetch-Dest`. */
  judgeOf(destination: string | string[] | undefined, path: string): JudgeResponse | undefined
  /** Call once for the request that `judge` is about. undefined: send it. */
  earlyOf(
    judge: JudgeResponse | undefined,
    method: string,
    headers: http.OutgoingHttpHeaders,
  ): EarlyRequest | undefined
}

type JudgeResponse = (status: number, headers: http.OutgoingHttpHeaders) => boolean

/** Scripts cannot set this: `Sec-` headers are reserved for the browser. */
const MAIN_DOCUMENT = 'document'

/** `learn`: hears the request headers of each watched document. */
export function createDocumentWatch(learn: (headers: http.OutgoingHttpHeaders) => void): DocumentWatch {
  let next: DocumentJudge | null = null
  let waiting: GivenDocument | undefined
  return {
    judgeNext(judge, given) {
      next = judge
      waiting?.sent.call.destroy()
      waiting = given
    },
    earlyOf(judge, method, headers) {
      if (judge === undefined || method !== 'GET') return undefined
      learn(headers)
      const given = waiting
      waiting = undefined
      if (given === undefined || isAlike(given.headers, headers)) return given
      given.sent.call.destroy()
      return undefined
    },
    judgeOf(destination, path) {
      const judge = next
      if (judge === null || destination !== MAIN_DOCUMENT) return undefined
      return (status, headers) => {
        if (next !== judge) return true
        next = null
        const judged = judge(status, headers, path)
        if (judged === 'again') next ??= judge
        return judged !== false
      }
    },
  }
}
