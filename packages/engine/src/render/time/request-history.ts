/** A request repeated more often than this is a poll and is not waited for ... */
const POLL_AFTER = 8
/** ... and so is one that differs only in query or body, as long polls do. */
const VARIED_POLL_AFTER = 30
/** An answer that took this long, or that never came, is slow: the server holds it back. */
const SLOW_MS = 1_000
/** The same request after so many slow answers is a long poll. A retry of a slow back end is none ... */
const SLOW_ANSWERS = 2
/** ... unless it stayed unanswered for this long, or still is. */
const UNANSWERED_MS = 5_000

type Asked = { method: string; url: string; postData: string; type: string }
type Open = { whole: string; varied: string; sinceMs: number }

/** The requests of one page so far, which tell polls from requests that bring content. */
export class RequestHistory {
  readonly #nowMs: () => number
  readonly #times = new Map<string, number>()
  readonly #slowAnswers = new Map<string, number>()
  readonly #open = new Map<string, Open>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Notes a request. Returns whether it is a poll. */
  started(id: string, { method, url, postData, type }: Asked): boolean {
    const whole = `${method} ${url} ${postData}`
    const varied = `${method} ${url.split(/[?#]/, 1)[0]}`
    const isOften =
      this.#count(this.#times, whole) > POLL_AFTER || this.#count(this.#times, varied) > VARIED_POLL_AFTER
    const slowKey = namesPoll(url) ? varied : whole
    const isSlow = (this.#slowAnswers.get(slowKey) ?? 0) >= SLOW_ANSWERS || this.#isUnanswered(whole)
    this.#open.set(id, { whole, varied, sinceMs: this.#nowMs() })
    // Code is asked for once, and needed.
    return isOften || (isSlow && type !== 'Document' && type !== 'Stylesheet')
  }

  ended(id: string): void {
    const request = this.#open.get(id)
    this.#open.delete(id)
    if (request === undefined || this.#nowMs() - request.sinceMs < SLOW_MS) return
    const answers = this.#nowMs() - request.sinceMs < UNANSWERED_MS ? 1 : SLOW_ANSWERS
    this.#count(this.#slowAnswers, request.whole, answers)
    if (request.varied !== request.whole) this.#count(this.#slowAnswers, request.varied, answers)
  }

  #isUnanswered(whole: string): boolean {
    for (const open of this.#open.values())
      if (open.whole === whole && this.#nowMs() - open.sinceMs >= UNANSWERED_MS) return true
    return false
  }

  #count(counts: Map<string, number>, key: string, by = 1): number {
    const times = (counts.get(key) ?? 0) + by
    counts.set(key, times)
    return times
  }
}

/** Words in addresses of long polls, as parts of a path or of a query. */
const POLL_WORDS = new Set(
  (
    'poll polls polling longpoll longpolling longpolls comet cometd bayeux signalr sockjs socketio subscribe ' +
    'subscription subscriptions listen listener listening wait await waiting watch watcher stream streams streaming ' +
    'events updates changes notify notification notifications presence heartbeat heartbeats keepalive push pubsub ' +
    'realtime live sse'
  ).split(' '),
)

/** Returns whether the address says that its answer waits for something to happen. */
export function namesPoll(url: string): boolean {
  const { pathname = '', searchParams = new URLSearchParams() } = URL.parse(url) ?? {}
  const words = [pathname, searchParams.get('transport') ?? '', searchParams.get('feed') ?? '']
    .join('/')
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replace(/socket\.io|long[-_]poll/gi, '/poll/')
    .toLowerCase()
    .split(/[^a-z]+/)
  return words.some((word) => POLL_WORDS.has(word))
}
