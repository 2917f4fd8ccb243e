import type http from 'node:http'

import { isAlike, type Knowledge, type Prediction, type SiteRequest } from './knowledge.ts'
import { type PageAddress, readPageAddress } from './page-address.ts'

/** A request of a page as the gateway has it. */
type PageAsk = SiteRequest & {
  method: string
  /** `Sec-Fetch-Dest`, which no script can choose. */
  destination: string | string[] | undefined
}

/** A request that has been sent, and its answer, if that has come. `wasted`: to be told when it is sent once more all the same. */
export type Underway = {
  sent: http.ClientRequest
  received: http.IncomingMessage | null
  wasted(): void
}

/**
 * What the pages of one browser context are asked for ahead: the requests that a page will make are known from pages
 * like it, and the origin works on its answers while the page still loads its scripts. A page that
 * then asks has that answer, if what it asks is the same to the last header; it cannot tell, but for the time.
 */
export type Preloads = {
  /** The document is there and will be shown. `url`: of the page, without its fragment. */
  begin(path: string, url: string): void
  /** Told of every request of the page to its own site; undefined: it is still to be sent. */
  take(ask: PageAsk): Underway | undefined
  /** The page does something that answers may depend on, as over a socket, which nobody reads. */
  acts(): void
  /** How many requests of this page have been answered so. */
  readonly used: number
  /** The page has been rendered: what it asked for is what others of its kind will ask for. */
  end(): void
  /** Nothing goes on. */
  close(): void
}

/** So many at once: as many as a browser opens connections to a host of HTTP/1.1, and two. */
const MOST_EARLY = 8
const MOST_NOTED = 64
const PATH_CHARS = 1_000

/** Data, and what the browser keeps. */
const DATA = 'empty'
const KEPT = new Set(['script', 'style'])
/** RFC 9110, section 9.2.1: ask for nothing but an answer. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

type CurrentPage = {
  address: PageAddress
  url: string
  predictions: Prediction[]
  early: Set<Prediction>
  wasted: Set<Prediction>
  /** The first request for each path. */
  asked: Map<string, SiteRequest>
  /** From now on answers may be others than without what the page has done. */
  hasActed: boolean
}

/** `send`: to the origin, or throws. */
export function createPreloads(
  knowledge: Knowledge,
  send: (request: SiteRequest) => http.ClientRequest,
): Preloads {
  let page: CurrentPage | null = null
  let used = 0
  /** A new context has no scripts yet: what it asks for is not what later pages will ask for. */
  let isFirst = true
  const waiting = new Map<string, Underway & { headers: http.OutgoingHttpHeaders; failed: boolean }>()

  const open = (prediction: Prediction, { early: sentEarly, wasted }: CurrentPage) => {
    const { request } = prediction
    const sent = send(request)
    sentEarly.add(prediction)
    const early = {
      sent,
      received: null as http.IncomingMessage | null,
      failed: false,
      headers: request.headers,
      wasted: () => void wasted.add(prediction),
    }
    const fail = () => {
      early.failed = true
    }
    sent.on('error', fail)
    sent.on('response', (received) => {
      early.received = received
      // Read by whoever takes it; until then its connection holds it back.
      received.on('error', fail)
    })
    sent.end()
    waiting.set(request.path, early)
  }
  const letGo = ({ sent, received }: Underway) => {
    // Whole already: its connection can be used again.
    if (received?.complete === true) received.resume()
    else sent.destroy()
  }
  const letAllGo = () => {
    for (const early of waiting.values()) letGo(early)
    waiting.clear()
  }
  const acts = () => {
    if (page === null) return
    // RFC 9111, section 4.4, and more: what was answered before may no longer be so.
    page.hasActed = true
    letAllGo()
  }
  const isOfInterest = ({ method, path, headers, destination }: PageAsk) =>
    method === 'GET' &&
    path.length <= PATH_CHARS &&
    (destination === DATA || (!isFirst && KEPT.has(String(destination)))) &&
    headers['range'] === undefined &&
    // Answers that never end.
    !String(headers['accept'] ?? '').includes('text/event-stream')

  return {
    get used() {
      return used
    },
    begin(path, url) {
      const address = readPageAddress(path)
      const predictions = knowledge.predict(address, url)
      page = {
        address,
        url,
        predictions,
        early: new Set(),
        wasted: new Set(),
        asked: new Map(),
        hasActed: false,
      }
      used = 0
      for (const prediction of predictions) {
        const { request, isSure } = prediction
        const isKept = request.headers['sec-fetch-dest'] !== DATA
        if (!isSure || (isFirst && isKept) || waiting.has(request.path)) continue
        // A long word in many places.
        if (request.path.length > PATH_CHARS) continue
        if (waiting.size >= MOST_EARLY) break
        try {
          open(prediction, page)
        } catch {
          // A path or header that node:http does not send; the page is told when it asks.
        }
      }
    },

    take(ask) {
      if (page === null) return undefined
      if (!SAFE.has(ask.method)) acts()
      const { method, path, headers } = ask
      if (isOfInterest(ask) && !page.hasActed && page.asked.size < MOST_NOTED && !page.asked.has(path))
        page.asked.set(path, { path, headers })
      const early = method === 'GET' ? waiting.get(path) : undefined
      if (early === undefined) return undefined
      waiting.delete(path)
      if (early.failed || early.received?.destroyed === true || !isAlike(early.headers, headers)) {
        letGo(early)
        early.wasted()
        return undefined
      }
      used++
      return early
    },
    acts,

    end() {
      letAllGo()
      if (page === null) return
      const { address, url, predictions, early, wasted, asked } = page
      page = null
      used = 0
      const relevant = isFirst
        ? predictions.filter(({ request }) => request.headers['sec-fetch-dest'] === DATA)
        : predictions
      isFirst = false
      knowledge.learn(address, url, { predictions: relevant, early, wasted, asked: [...asked.values()] })
    },

    close() {
      page = null
      letAllGo()
    },
  }
}
