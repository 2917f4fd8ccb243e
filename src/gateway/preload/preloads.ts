import type { SentRequest } from '../../outbound/client/request.ts'
import { type EarlyRequest, EarlyRequests } from './early-requests.ts'
import type { Knowledge, Prediction, SiteRequest } from './knowledge.ts'
import { type PageAddress, readPageAddress } from './page-address.ts'

/** A request of a page as the gateway has it. */
type PageAsk = SiteRequest & {
  method: string
  /** `Sec-Fetch-Dest`, which no script can choose. */
  destination: string | string[] | undefined
}

const MOST_NOTED = 64
const PATH_CHARS = 1_000

/** Values of `Sec-Fetch-Dest`: data, and what the browser keeps. */
const DATA = 'empty'
const KEPT = new Set(['script', 'style'])
/** RFC 9110, section 9.2.1: ask for nothing but an answer. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** What one page has been predicted to ask for, and has asked for. */
type CurrentPage = {
  address: PageAddress
  url: string
  predictions: Prediction[]
  early: Set<Prediction>
  wasted: Set<Prediction>
  /** The first request for each path. */
  asked: Map<string, SiteRequest>
  /** The page has done something that later answers may depend on. */
  hasActed: boolean
}

/**
 * Sends requests ahead for the pages of one browser context: what a page will ask for is known from pages like it,
 * and the origin works on its answers while the page still loads its scripts. A page that asks the same, to the last
 * header, gets that answer; it cannot tell, but for the time.
 */
export class Preloads {
  readonly #knowledge: Knowledge
  readonly #early: EarlyRequests
  #page: CurrentPage | null = null
  #used = 0
  /** A new context has no scripts yet: its first page asks for more than later ones will. */
  #isFirst = true

  /** `send`: to the origin, or throws. */
  constructor(knowledge: Knowledge, send: (request: SiteRequest) => SentRequest) {
    this.#knowledge = knowledge
    this.#early = new EarlyRequests(send)
  }

  /** How many requests of this page have been answered early. */
  get used(): number {
    return this.#used
  }

  /** The document is there and will be shown. `url`: of the page, without its fragment. */
  begin(path: string, url: string): void {
    const address = readPageAddress(path)
    const predictions = this.#knowledge.predict(address, url)
    const page: CurrentPage = {
      ...{ address, url, predictions, hasActed: false },
      ...{ early: new Set(), wasted: new Set(), asked: new Map() },
    }
    this.#page = page
    this.#used = 0
    for (const prediction of predictions) {
      if (this.#early.isFull) break
      if (!this.#isWorthSending(prediction)) continue
      try {
        this.#early.send(prediction.request, () => page.wasted.add(prediction))
        page.early.add(prediction)
      } catch {
        // A path or header that no request can have; the page is told when it asks.
      }
    }
  }

  #isWorthSending({ request, isSure }: Prediction): boolean {
    const isKept = request.headers['sec-fetch-dest'] !== DATA
    if (!isSure || (this.#isFirst && isKept) || this.#early.has(request.path)) return false
    // A long word in many places.
    return request.path.length <= PATH_CHARS
  }

  /** Told of every request of the page to its own site; undefined: it is still to be sent. */
  take(ask: PageAsk): EarlyRequest | undefined {
    const page = this.#page
    if (page === null) return undefined
    if (!SAFE.has(ask.method)) this.acts()
    const { method, path, headers } = ask
    const isNew = page.asked.size < MOST_NOTED && !page.asked.has(path)
    if (this.#isOfInterest(ask) && !page.hasActed && isNew) page.asked.set(path, { path, headers })
    const early = method === 'GET' ? this.#early.take({ path, headers }) : undefined
    if (early !== undefined) this.#used++
    return early
  }

  #isOfInterest({ method, path, headers, destination }: PageAsk): boolean {
    return (
      method === 'GET' &&
      path.length <= PATH_CHARS &&
      (destination === DATA || (!this.#isFirst && KEPT.has(String(destination)))) &&
      headers['range'] === undefined &&
      // Responses that never end.
      !String(headers['accept'] ?? '').includes('text/event-stream')
    )
  }

  /** The page does something that answers may depend on (RFC 9111, section 4.4, and more), as over a socket. */
  acts(): void {
    if (this.#page === null) return
    this.#page.hasActed = true
    this.#early.end()
  }

  /** The page has been rendered: what it asked for is what others of its kind will ask for. */
  end(): void {
    this.#early.end()
    if (this.#page === null) return
    const { address, url, predictions, early, wasted, asked } = this.#page
    this.#page = null
    this.#used = 0
    const relevant = this.#isFirst
      ? predictions.filter(({ request }) => request.headers['sec-fetch-dest'] === DATA)
      : predictions
    this.#isFirst = false
    this.#knowledge.learn(address, url, { predictions: relevant, early, wasted, asked: [...asked.values()] })
  }

  close(): void {
    this.#page = null
    this.#early.end()
  }
}
