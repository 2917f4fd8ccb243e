import type http from 'node:http'

/**
 * Looks at an answer of the origin before the browser hears of it, with the headers that it would get.
 * `false`: it is not for the browser, which is told that there is nothing to show. `path`: what was asked for, with its query.
 */
export type DocumentJudge = (status: number, headers: http.OutgoingHttpHeaders, path: string) => boolean

/** Shows the answer to a page's main request to whoever renders it. */
export type DocumentWatch = {
  /** Of requests that arrive from now on, the first answer to one for a document is shown; null: none is. */
  judgeNext(judge: DocumentJudge | null): void
  /** At the arrival of a request; undefined: its answer is shown to nobody. `destination`: its `Sec-Fetch-Dest`. */
  judgeOf(
    destination: string | string[] | undefined,
    path: string,
  ): ((status: number, headers: http.OutgoingHttpHeaders) => boolean) | undefined
}

/** No page can send such a request by script: headers that begin with `Sec-` are the browser's own. */
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
        // One that was waited for by a render before is of no interest to this one.
        if (next !== judge) return true
        next = null
        return judge(status, headers, path)
      }
    },
  }
}
