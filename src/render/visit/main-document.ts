import type { OutgoingHttpHeaders } from 'node:http'

import type { Protocol } from 'devtools-protocol'

import type { CdpListeners } from '../browser/cdp.ts'
import type { RenderOutcome } from '../outcome.ts'
import { judgeMainResponse, type ResponseHeader, type SiteAddress } from './main-response.ts'
import type { Recorder } from './recorder.ts'

/** The answer that the page is made of. */
type MainDocument = {
  readonly status: number
  readonly headers: readonly ResponseHeader[]
  /** For the gateway, which holds the first answer meanwhile: before the browser hears of any of it. */
  judgeFirst(status: number, headers: OutgoingHttpHeaders): boolean
  readonly listeners: CdpListeners
}

/**
 * Judges each answer to the main frame's request, and tells `end` of one that
 * decides the render by itself. Only the first is held meanwhile; that of a page
 * that loads itself again, and what the gateway itself answers, is judged as it comes.
 *
 * Held in the gateway and not by Chromium (`Fetch`), which would pass every request
 * of the page through its debugger (docs/decisions/0015-render-speed.md), and fails
 * requests of other origins whose preflight is answered with a body.
 */
export function createMainDocument(
  frameId: string,
  site: SiteAddress & { path: string },
  recorder: Pick<Recorder, 'reached'>,
  end: (outcome: RenderOutcome) => void,
): MainDocument {
  let status = 200
  let headers: readonly ResponseHeader[] = []
  /** Of the main document's request. */
  let documentId = ''
  let documentUrl: string | null = null

  /** Whether there is a page to go on with. */
  const judge = (url: string, given: number, received: readonly ResponseHeader[]) => {
    status = given
    headers = received
    const outcome = judgeMainResponse(url, status, headers, site)
    if (outcome !== null) end(outcome)
    return outcome === null
  }

  return {
    get status() {
      return status
    },
    get headers() {
      return headers
    },
    judgeFirst(given, received) {
      recorder.reached('firstResponse')
      return judge(`https://${site.customDomain}${site.path}`, given, listOfOutgoing(received))
    },
    listeners: {
      'Network.requestWillBeSent': ({ requestId, frameId: of, type, request, redirectResponse }) => {
        if (type !== 'Document' || of !== frameId) return
        documentId = requestId
        if (redirectResponse !== undefined) {
          judge(redirectResponse.url, redirectResponse.status, listOf(redirectResponse))
          return
        }
        // Another program's, a mail program's for one.
        if (!/^https?:/.test(request.url)) return
        documentUrl ??= request.url
        // Back in the tab's history to the page of another render, which in-page/history.js keeps it from:
        // a script that goes elsewhere has ended the render before it asks.
        if (request.url !== documentUrl) end({ kind: 'timed-out', afterMs: 0 })
      },
      'Network.responseReceived': ({ requestId, response }) => {
        if (requestId === documentId) judge(response.url, response.status, listOf(response))
      },
      'Network.loadingFailed': ({ requestId, errorText, canceled = false }) => {
        // Half a document reads like a whole one.
        if (requestId === documentId && !canceled && headers.length > 0) {
          end({ kind: 'origin-unreachable', reason: errorText })
        }
      },
    },
  }
}

function listOfOutgoing(headers: OutgoingHttpHeaders): ResponseHeader[] {
  return Object.entries(headers).flatMap(([name, value = '']) =>
    [value].flat().map((line) => ({ name, value: String(line) })),
  )
}

/** The network tells headers of one name in one text, a line each. */
function listOf({ headers }: Protocol.Network.Response): ResponseHeader[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    String(value)
      .split('\n')
      .map((line) => ({ name, value: line })),
  )
}
