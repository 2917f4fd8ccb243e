import type http from 'node:http'

/** Sees the document before the browser. `false`: the browser gets 204. `path` includes the query. */
export type DocumentJudge = (status: number, headers: http.OutgoingHttpHeaders, path: string) => boolean

export type DocumentWatch = {
  /** Watches the first document request from now on; null stops. */
  judgeNext(judge: DocumentJudge | null): void
  /** Call when a request arrives. undefined: nothing to judge. `destination`: its `Sec-Fetch-Dest`. */
  judgeOf(
    destination: string | string[] | undefined,
    path: string,
  ): ((status: number, headers: http.OutgoingHttpHeaders) => boolean) | undefined
}

/** Scripts cannot set this: `Sec-` headers are reserved for the browser. */
const MAIN_DOCUMENT = 'document'

export function createDocumentWatch(): DocumentWatch {
  let next: DocumentJudge | null = null
  return {
    judgeNext(judge) {
      next = judge
    },
    judgeOf(destination, path) {
      const judge = next
      if (judge === null || destination !== MAIN_DOCUMENT) return undefined
      return (status, headers) => {
        if (next !== judge) return true
        next = null
        return judge(status, headers, path)
      }
    },
  }
}
