// Asks Prepaint for crawlers' pages, over the Request and Response of fetch.

/** The same as in package.json. */
const VERSION = '0.3.0'

/** What browsers load for a page, and files. */
const ASSET =
  /\.(?:js|mjs|css|map|json|xml|txt|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|otf|mp[34]|webm|pdf|zip|gz|wasm|webmanifest)$/i

/** Wide on purpose: Prepaint looks closer. It only spares people the way. The configurations of all guides have the same. */
export const CRAWLERS =
  /(?<!cu)bots?(?:\b|_)|botify|crawl|spider|slurp|preview|fetcher|archiv|externalhit|externalagent|webindexer|facebookcatalog|imgproxy|scrap\b|line-poker|embedly|iframely|^whatsapp\/|vkshare|pinterest\/0|bluesky|^mastodon\/|^tumblr\/|flipboardproxy|google-(?!pagespeed)|-google|googleother|chatgpt|claude-|anthropic|perplexity|cohere-|mistralai|xing-contenttab|yahoo link|yahoomailproxy|amazon-quick|lightpanda\/|owler@|^owler\/|miniature\.io\/|gemini-deep|cotoyogi|yandex(?:images|direct|metrika)|naver\.me|qwantify|daumoa|screaming frog|barkrowler|ahrefssiteaudit|seokicks|sistrix|sitebulb|lumar|megaindex|heritrix|^feedly\/|w3c_validator/i

const WAIT_MS = 15_000
const LONGEST_WAIT_MS = 600_000
const HEADER_LIMIT_CHARS = 4_096

/** After so many network errors or time-outs in a row, Prepaint is not asked for a while. */
const FAILURES = 3
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 15_000

/** They are about the connection to Prepaint, and `fetch` has unpacked the body. */
const NOT_PASSED = [
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'x-prepaint-status',
]

/** Throws a TypeError that names a bad option. */
export function prepaint(options) {
  const asking = new Asking(options, 'Prepaint')
  return { mayBeForUs: asking.mayBeForUs, page: asking.page }
}

/** What the entries for frameworks share. */
export class Asking {
  #options
  #intType
  #url
  #failures = 0
  #pauseMs = FIRST_PAUSE_MS
  #pausedUntilMs = 0

  /** `intType` names the entry to Prepaint. */
  constructor(options, intType, { needsSite = false } = {}) {
    this.#options = checked(options, needsSite)
    this.#intType = intType
    this.#url = `${this.#options.service.replace(/\/+$/, '')}/api/render`
  }

  /** Whether it is worth asking: a page, for what may be a crawler, and not Prepaint's own renderer. */
  mayBeForUs = (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    if (request.headers.has('x-prerender')) return false
    if (!this.#options.crawlers.test(request.headers.get('user-agent') ?? '')) return false
    return !ASSET.test(new URL(request.url).pathname)
  }

  /** The page as a whole Response, or null: the site answers. Never rejects, and takes `waitMs` at most. */
  page = async (request) => {
    if (Date.now() < this.#pausedUntilMs) return null
    let answer
    let body
    try {
      answer = await this.#ask(request)
      // To its end, also when it is no page: only a whole one is an answer.
      body = await answer.arrayBuffer()
    } catch {
      this.#countFailure()
      return null
    }
    this.#failures = 0
    this.#pauseMs = FIRST_PAUSE_MS
    try {
      const status = Number(answer.headers.get('x-prepaint-status'))
      if (answer.status === 200 && answer.headers.has('x-prepaint') && status >= 200) {
        return responseOf(answer, status, request.method === 'HEAD' ? null : body)
      }
      if (answer.status !== 204) this.#tellRefusal(answer, body)
    } catch {
      // It is no page.
    }
    return null
  }

  /** The request of a Node server as that of fetch, or null if it has no URL that can be asked for. */
  requestOf(req, url) {
    const headers = {}
    for (const name of ['user-agent', 'accept', 'x-prerender']) {
      const value = req.headers[name]
      if (typeof value === 'string') headers[name] = value
    }
    try {
      return new Request(this.#options.site + url, { method: req.method, headers })
    } catch {
      return null
    }
  }

  /** The page for a request of a Node server, or null. */
  async pageFor(req, url = req.url) {
    if (req.method !== 'GET' && req.method !== 'HEAD') return null
    const request = this.requestOf(req, url)
    return request !== null && this.mayBeForUs(request) ? this.page(request) : null
  }

  #ask(request) {
    const { key, waitMs, site } = this.#options
    const { pathname, search } = new URL(request.url)
    const asked = { url: site === undefined ? request.url : site + pathname + search }
    asked.user_agent = (request.headers.get('user-agent') ?? '').slice(0, HEADER_LIMIT_CHARS)
    const accept = request.headers.get('accept')
    if (accept !== null && accept.length <= HEADER_LIMIT_CHARS) asked.accept = accept
    return fetch(this.#url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-prerender-int-type': this.#intType,
        'x-prerender-int-version': VERSION,
        'x-prerender-request-id': newId(),
      },
      body: JSON.stringify(asked),
      signal: AbortSignal.timeout(waitMs),
    })
  }

  #countFailure() {
    this.#failures++
    if (this.#failures < FAILURES) return
    this.#pausedUntilMs = Date.now() + this.#pauseMs
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  #tellRefusal({ status, headers }, body) {
    const { onRefused } = this.#options
    if (onRefused === undefined) return
    const isText = /json|text/.test(headers.get('content-type') ?? '')
    onRefused({ status, text: isText ? new TextDecoder().decode(body).slice(0, 1_000) : '' })
  }
}

/** A UUID v4. Node 18 has no global `crypto`; the ID is no secret. */
function newId() {
  if (globalThis.crypto?.randomUUID !== undefined) return crypto.randomUUID()
  const digit = () => Math.floor(16 * Math.random())
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replace(/[xy]/g, (place) =>
    (place === 'x' ? digit() : 8 + (digit() % 4)).toString(16),
  )
}

/** Writes a page as the response of a Node server. */
export async function sendTo(res, page) {
  const body = Buffer.from(await page.arrayBuffer())
  res.statusCode = page.status
  for (const [name, value] of page.headers) res.setHeader(name, value)
  res.end(body)
}

function responseOf(answer, status, body) {
  const headers = new Headers(answer.headers)
  for (const name of NOT_PASSED) headers.delete(name)
  return new Response(body === null || body.byteLength === 0 ? null : body, { status, headers })
}

function checked(options, needsSite) {
  const { service, key, site, waitMs = WAIT_MS, crawlers = CRAWLERS, onRefused } = options ?? {}
  if (!isWebUrl(service)) throw new TypeError('service must be the http or https URL of the API of Prepaint')
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError('key must be a site token or an API key')
  }
  if ((needsSite || site !== undefined) && !isOrigin(site)) {
    throw new TypeError('site must be what visitors see, such as https://www.example.com')
  }
  if (!Number.isInteger(waitMs) || waitMs < 1 || waitMs > LONGEST_WAIT_MS) {
    throw new TypeError(`waitMs must be a whole number from 1 to ${LONGEST_WAIT_MS}`)
  }
  if (!(crawlers instanceof RegExp)) throw new TypeError('crawlers must be a RegExp')
  if (onRefused !== undefined && typeof onRefused !== 'function') {
    throw new TypeError('onRefused must be a function')
  }
  // With `g` or `y`, `test` would go on where it found the last crawler.
  const pattern = new RegExp(crawlers.source, crawlers.flags.replace(/[gy]/g, ''))
  return { service, key, site: site?.replace(/\/$/, ''), waitMs, crawlers: pattern, onRefused }
}

function isWebUrl(text) {
  try {
    return typeof text === 'string' && /^https?:$/.test(new URL(text).protocol)
  } catch {
    return false
  }
}

function isOrigin(text) {
  return isWebUrl(text) && new URL(text).origin === text.replace(/\/$/, '').toLowerCase()
}
