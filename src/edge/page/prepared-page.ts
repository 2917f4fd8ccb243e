import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { Encoding } from '../../http/accept-encoding.ts'
import { RecentMap } from '../../recent-map.ts'
import type { StoredEntry, StoredPage, StoredRedirect } from '../../store/stored-page.ts'
import { headerLines } from './plain-page.ts'

const brotliDecompress = promisify(zlib.brotliDecompress)
const gzip = promisify(zlib.gzip)

/** A page larger than this when written out is served as brotli or not at all; the renderer stores none. */
const HTML_LIMIT_BYTES = 64 * 1024 * 1024

/** One encoding of a page, ready to be written. */
export type Representation = {
  body: Buffer
  /** Strong: it names exactly these bytes (RFC 9110, section 8.8.3). */
  etag: string
  /** Those that change from answer to answer come behind them, see `serve.ts`. */
  whole: SameHeaders
  /** The same without what describes the content, for 304. */
  notModified: SameHeaders
}

/** Headers that are the same in each answer. */
export type SameHeaders = {
  /** Flat: name, value, name, value ... */
  readonly headers: readonly string[]
  /** As they go over the wire of HTTP/1.1; made when it is first asked for. */
  readonly lines: string
}

/** A stored page as the edge holds it in memory. */
export type ServedPage = Pick<StoredPage, 'kind' | 'status' | 'renderedAtMs' | 'staleSinceMs'> & {
  /** What it takes in memory now; grows when another encoding is made. */
  bytes: number
  /** As in `Last-Modified`, whose unit is the second. */
  lastModifiedMs: number
  /** false: nothing of it is stored, it is given once. */
  isStored: boolean
  readonly ready: Partial<Record<Encoding, Representation>>
  /** Made once, on demand; the same promise for all that wait for it. */
  make(encoding: Encoding): Promise<Representation>
}

export type ServedRedirect = StoredRedirect & { readonly bytes: number }

export type Served = ServedPage | ServedRedirect

/**
 * Crawlers ask again with If-None-Match, which costs next to nothing. `private`:
 * a cache between us and them that ignores `Vary: User-Agent`, as most CDNs do,
 * would hand the crawlers' page to people.
 */
export const CACHE_CONTROL = 'private, no-cache'

export function prepareServed(entry: StoredEntry): Served {
  return entry.kind === 'redirect' ? prepareRedirect(entry) : preparePage(entry)
}

/** A page that says itself that it is an error of the moment: for those who wait for it, and nobody after them. */
export function prepareUnstored(page: StoredPage): Served {
  return Object.assign(preparePage(page), { isStored: false })
}

function prepareRedirect(entry: StoredRedirect): ServedRedirect {
  return { ...entry, location: writable(entry.location), bytes: 400 + 2 * entry.location.length }
}

function preparePage(page: StoredPage): ServedPage {
  const lastModifiedMs = Math.floor((page.changedAtMs ?? page.renderedAtMs) / 1_000) * 1_000
  const stored = servableHeaders(page.headers).map(oneOfMany)
  const described = [
    ...['Cache-Control', CACHE_CONTROL, 'Vary', 'Accept-Encoding, User-Agent'],
    ...['Last-Modified', oneOfMany(new Date(lastModifiedMs).toUTCString())],
  ]

  const represent = (encoding: Encoding, body: Buffer): Representation => {
    const etag = encoding === 'identity' ? `"${page.etag}"` : `"${page.etag}-${encoding}"`
    const content = encoding === 'identity' ? [] : ['Content-Encoding', encoding]
    content.push('Content-Length', `${body.length}`)
    return {
      body,
      etag,
      whole: new WrittenOnce([...stored, ...described, 'ETag', etag, ...content]),
      notModified: new WrittenOnce([...described, 'ETag', etag]),
    }
  }

  const making: Partial<Record<Encoding, Promise<Representation>>> = {}
  const served: ServedPage = {
    kind: 'page',
    status: page.status,
    renderedAtMs: page.renderedAtMs,
    staleSinceMs: page.staleSinceMs,
    bytes: page.bodyBr.length + 3_000,
    lastModifiedMs,
    isStored: true,
    ready: {
      br: represent('br', page.bodyBr),
      ...(page.bodyHtml !== undefined && { identity: represent('identity', page.bodyHtml) }),
    },
    make(encoding) {
      making[encoding] ??= encode(page, encoding)
        .then((body) => {
          served.bytes += body.length + 1_000
          const representation = represent(encoding, body)
          served.ready[encoding] = representation
          return representation
        })
        .finally(() => {
          delete making[encoding]
        })
      return making[encoding]
    },
  }
  return served
}

class WrittenOnce implements SameHeaders {
  readonly headers: readonly string[]
  #lines = ''

  constructor(headers: readonly string[]) {
    this.headers = headers
  }

  get lines(): string {
    this.#lines ||= headerLines(this.headers)
    return this.#lines
  }
}

const texts = new RecentMap<string>({ limit: 5_000 })

/** The same text, and the same memory as that of other pages which say it: a site's pages hardly differ in their headers. */
function oneOfMany(text: string): string {
  const known = texts.get(text)
  if (known === undefined) texts.set(text, text)
  return known ?? text
}

async function encode({ bodyBr, bodyHtml: known }: StoredPage, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'br') return bodyBr
  const html = known ?? (await brotliDecompress(bodyBr, { maxOutputLength: HTML_LIMIT_BYTES }))
  return encoding === 'gzip' ? gzip(html, { level: 6 }) : html
}

/** A reference as a header can carry it: what browsers drop is dropped, what they encode is encoded. */
function writable(location: string): string {
  return location
    .replace(/[\t\r\n]/g, '')
    .toWellFormed()
    .replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))
}

// What the origin said about its own answer and its own connection; the edge says these itself.
const NOT_STORED = new Set([
  'age',
  'accept-ranges',
  'alt-svc',
  'cache-control',
  'cache-status',
  'clear-site-data',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'expires',
  'http2-settings',
  'keep-alive',
  'last-modified',
  'pragma',
  'proxy-authenticate',
  'proxy-connection',
  'server-timing',
  // One visitor's; a stored page is everybody's.
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
  'x-prepaint',
  'x-request-id',
])

// RFC 9110, section 5.1 (token) and 5.5 (field-value: no control characters, so no line break).
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8000}$/

const LIMIT = 64

/**
 * Stored headers (from the origin and from the page's own `prerender-header`
 * metas) as a flat list that is safe to write: well-formed, none of the ones
 * that are ours to say, at most 64. The first `Content-Type` counts; the bytes
 * are UTF-8 whatever the origin once sent.
 */
function servableHeaders(stored: readonly (readonly [name: string, value: string])[]): string[] {
  const wellFormed = stored.filter(([name, value]) => NAME.test(name) && VALUE.test(value))
  const type = wellFormed.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? 'text/html'
  const mediaType = type.split(';', 1)[0]!.trim()
  const flat = ['Content-Type', `${mediaType}; charset=utf-8`]
  for (const [name, value] of wellFormed) {
    const lower = name.toLowerCase()
    if (flat.length >= 2 * LIMIT) break
    if (lower !== 'content-type' && !NOT_STORED.has(lower)) flat.push(name, value)
  }
  return flat
}
