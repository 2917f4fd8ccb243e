import type { SentRequest } from '@prepaint/outbound/client'
import { type EarlyRequest, EarlyRequests } from './early-requests.ts'
import type { Knowledge, Prediction, SiteRequest } from './knowledge.ts'
import { type PageAddress, readPageAddress } from './page-address.ts'

type PageAsk = SiteRequest & {
  method: string
  /** `Sec-Fetch-Dest`, which scripts cannot set. */
  destination: string | string[] | undefined
}

const MOST_NOTED = 64
const PATH_CHARS = 1_000

/** Values of `Sec-Fetch-Dest`: data, and what the browser keeps. */
const DATA = 'empty'
const KEPT = new Set(['script', 'style'])
/** RFC 9110, section 9.2.1 */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

type CurrentPage = {
  address: PageAddress
  url: string
  predictions: Prediction[]
  early: Set<Prediction>
  wasted: Set<Prediction>
  asked: Map<string, SiteRequest>
  hasActed: boolean
}

/** Sends a page's requests early, predicted from similar pages. Only identical requests use the response. */
export class Preloads {
  readonly #knowledge: Knowledge
  readonly #early: EarlyRequests
  #page: CurrentPage | null = null
  #used = 0
  /** A new context has no cached scripts: its first page requests more than later ones. */
  #isFirst = true

  constructor(knowledge: Knowledge, send: (request: SiteRequest) => SentRequest) {
    this.#knowledge = knowledge
    this.#early = new EarlyRequests(send)
  }

  get used(): number {
    return this.#used
  }

  /** Call when the document arrived and will be shown. `url`: without the fragment. */
  begin(path: string, url: string): void {
    const address = readPageAddress(path)
    const predictions = this.#knowledge.predict(address, url)
    const page: CurrentPage = {
      address,
      url,
      predictions,
      hasActed: false,
      early: new Set(),
      wasted: new Set(),
      asked: new Map(),
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
        // Invalid path or header. The page gets the error when it asks.
      }
    }
  }

  #isWorthSending({ request, isSure }: Prediction): boolean {
    const isKept = request.headers['sec-fetch-dest'] !== DATA
    if (!isSure || (this.#isFirst && isKept) || this.#early.has(request.path)) return false
    // A long word may occur in many places.
    return request.path.length <= PATH_CHARS
  }

  /** Call for each request of the page to its own site. Returns undefined if it must be sent. */
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
      // Endless responses.
      !String(headers['accept'] ?? '').includes('text/event-stream')
    )
  }

  /** Call when the page changes something, for example over a socket (RFC 9111, section 4.4). */
  acts(): void {
    if (this.#page === null) return
    this.#page.hasActed = true
    this.#early.end()
  }

  /** Call after the render to learn from the page. */
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
