import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { DerivedForm, StoredForm } from '@prepaint/contract/outcome/form.ts'
import type { PageVersion, StoredEntry, StoredPage, StoredRedirect } from '@prepaint/contract/page/stored.ts'
import { headerLinks } from '@prepaint/contract/reading/link-header.ts'
import type { Encoding } from '@prepaint/runtime/http/accept-encoding.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { headerLines } from './plain-page.ts'
import { originUsage, type Usage } from './usage-headers.ts'

const brotliDecompress = promisify(zlib.brotliDecompress)
const gzip = promisify(zlib.gzip)

/** Larger pages are served as brotli or not at all. The renderer stores none. */
const HTML_LIMIT_BYTES = 64 * 1024 * 1024

export type Representation = {
  body: Buffer
  /** Is strong: there is one per form, variant and encoding (RFC 9110, section 8.8.3). */
  etag: string
  /** The headers of a 200. Those that vary per response follow, see `send-page.ts`. */
  whole: SameHeaders
  /** The headers of a 304, which has no content headers. */
  notModified: SameHeaders
}

export type SameHeaders = {
  readonly headers: readonly string[]
  /** The headers as HTTP/1.1 lines, created on first use. */
  readonly lines: string
}

/** One form of a page. */
export type Encodings = {
  readonly ready: Partial<Record<Encoding, Representation>>
  /** Creates the encoding on first use; concurrent calls share the promise. */
  make(encoding: Encoding): Promise<Representation>
}

export type ServedPage = Pick<
  StoredPage,
  'kind' | 'variant' | 'status' | 'etag' | 'renderedAtMs' | 'staleSinceMs'
> & {
  bytes: number
  changedAtMs: number
  /** In whole seconds, as in `Last-Modified`. */
  lastModifiedMs: number
  /** Names what a rule did to its render, and is empty if none did anything. */
  effect: string
  /** Is false for a page that is given once and not stored. */
  isStored: boolean
  usage: Usage | null
  /** The site has Markdown of its own for this page. */
  ownMarkdown: boolean
  /** A form is absent if it is not known yet, and null if the page has none. */
  readonly forms: { html: Encodings } & Partial<Record<DerivedForm, Encodings | null>>
  addForm(form: DerivedForm, stored: StoredForm | null, publicUrl: string): void
  html(): Promise<string>
}

export type ServedRedirect = StoredRedirect & { readonly bytes: number }

export type Served = ServedPage | ServedRedirect

/** `private`: most CDNs ignore `Vary: User-Agent` and would serve the crawlers' page to people. */
export const CACHE_CONTROL = 'private, no-cache'

export function prepareServed(entry: StoredEntry): Served {
  return entry.kind === 'redirect' ? prepareRedirect(entry) : preparePage(entry)
}

export function versionOf(served: Served): PageVersion {
  const { renderedAtMs, staleSinceMs } = served
  if (served.kind === 'redirect')
    return { etag: null, renderedAtMs, staleSinceMs, ruleEffect: '', bodyBr: null }
  const bodyBr = served.forms.html.ready.br?.body ?? null
  return { etag: served.etag, renderedAtMs, staleSinceMs, ruleEffect: served.effect, bodyBr }
}

/** Prepares a page that declares a temporary error. Only the requests that wait for it get it. */
export function prepareUnstored(page: StoredPage): Served {
  const served = preparePage(page)
  served.isStored = false
  return served
}

function prepareRedirect(entry: StoredRedirect): ServedRedirect {
  return { ...entry, location: writable(entry.location), bytes: 400 + 2 * entry.location.length }
}

function preparePage(page: StoredPage): ServedPage {
  const changedAtMs = page.changedAtMs ?? page.renderedAtMs
  const lastModifiedMs = Math.floor(changedAtMs / 1_000) * 1_000
  const { others, usage } = originUsage(servableHeaders(page.headers))
  const stored = others.map(oneOfMany)
  const lastModified = oneOfMany(new Date(lastModifiedMs).toUTCString())
  const described = ['Cache-Control', CACHE_CONTROL, 'Last-Modified', lastModified]
  described.push('X-Prepaint-Variant', page.variant)
  const grow = (bytes: number) => {
    served.bytes += bytes
  }
  const served: ServedPage = {
    kind: 'page',
    variant: page.variant,
    status: page.status,
    etag: page.etag,
    renderedAtMs: page.renderedAtMs,
    staleSinceMs: page.staleSinceMs,
    bytes: page.bodyBr.length + 3_000,
    changedAtMs,
    lastModifiedMs,
    effect: oneOfMany(page.ruleEffect ?? ''),
    isStored: true,
    usage,
    ownMarkdown: page.ownMarkdown === true,
    forms: { html: prepareForm(page, { headers: stored, described }, grow) },
    addForm(form, made, publicUrl) {
      if (made === null) {
        served.forms[form] = null
        return
      }
      const headers = formHeaders(form, made, { page, stored, publicUrl })
      const kept = form === 'card' ? [...described, 'X-Prepaint-Form', 'card'] : described
      const { variant } = page
      served.forms[form] = prepareForm({ ...made, variant }, { headers, described: kept }, grow)
      grow(made.bodyBr.length + 3_000)
    },
    html: async () => String(await encode(page.bodyBr, page.bodyHtml, 'identity')),
  }
  return served
}

type FormBody = {
  bodyBr: Buffer
  bodyHtml?: Buffer | undefined
  etag: string
  variant: StoredPage['variant']
}

/** `described` are the headers of every answer; `headers` are left out of a 304. */
type FormHeaders = { headers: readonly string[]; described: readonly string[] }

/** Calls `grow` with the bytes that another encoding takes. */
function prepareForm(
  { bodyBr, bodyHtml, etag, variant }: FormBody,
  { headers, described }: FormHeaders,
  grow: (bytes: number) => void,
): Encodings {
  const tag = variant === 'desktop' ? etag : `${etag}-${variant}`
  const represent = (encoding: Encoding, body: Buffer): Representation => {
    const named = encoding === 'identity' ? `"${tag}"` : `"${tag}-${encoding}"`
    const content = encoding === 'identity' ? [] : ['Content-Encoding', encoding]
    content.push('Content-Length', `${body.length}`)
    return {
      body,
      etag: named,
      whole: new WrittenOnce([...headers, ...described, 'ETag', named, ...content]),
      notModified: new WrittenOnce([...described, 'ETag', named]),
    }
  }
  const ready: Encodings['ready'] = { br: represent('br', bodyBr) }
  if (bodyHtml !== undefined) ready.identity = represent('identity', bodyHtml)
  const making: Partial<Record<Encoding, Promise<Representation>>> = {}
  const make = async (encoding: Encoding) => {
    const body = await encode(bodyBr, ready.identity?.body, encoding)
    grow(body.length + 1_000)
    ready[encoding] = represent(encoding, body)
    return ready[encoding]
  }
  return {
    ready,
    make: (encoding) => {
      making[encoding] ??= make(encoding).finally(() => delete making[encoding])
      return making[encoding]
    },
  }
}

/** Returns the page's kept headers, as they are for this form. `stored` begins with the type of the page. */
function formHeaders(
  form: DerivedForm,
  { facts }: StoredForm,
  { page, stored, publicUrl }: { page: StoredPage; stored: readonly string[]; publicUrl: string },
): string[] {
  const kept = stored.slice(2)
  if (form === 'card') return ['Content-Type', 'text/html; charset=utf-8', ...kept]
  const links = headerLinks(page.headers)
  const declared = links.find(({ rels }) => rels.includes('canonical'))?.target
  const named = [facts.canonical, declared && URL.parse(declared, publicUrl)?.href]
  const canonical = named.find((url) => url && VALUE.test(url)) ?? publicUrl
  const others = links.filter(({ rels, text }) => !rels.includes('canonical') && VALUE.test(text))
  const isSet = (name: string) => /^(?:x-content-type-options|link)$/i.test(name)
  const headers = ['Content-Type', 'text/markdown; charset=utf-8', 'X-Content-Type-Options', 'nosniff']
  headers.push(
    'X-Markdown-Tokens',
    `${Math.ceil(facts.chars / 4)}`,
    'Link',
    `<${canonical}>; rel="canonical"`,
  )
  for (let at = 0; at < kept.length; at += 2) {
    if (!isSet(kept[at]!)) headers.push(kept[at]!, kept[at + 1]!)
  }
  for (const { text } of others) headers.push('Link', text)
  if (facts.robots !== null && VALUE.test(facts.robots)) headers.push('X-Robots-Tag', facts.robots)
  return headers
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

/** Interns the text: a site's pages share most of their headers. */
function oneOfMany(text: string): string {
  const known = texts.get(text)
  if (known === undefined) texts.set(text, text)
  return known ?? text
}

async function encode(bodyBr: Buffer, known: Buffer | undefined, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'br') return bodyBr
  const html = known ?? (await brotliDecompress(bodyBr, { maxOutputLength: HTML_LIMIT_BYTES }))
  // A copy: each of zlib's results keeps 64 KiB alive.
  return Buffer.from(new Uint8Array(encoding === 'gzip' ? await gzip(html, { level: 6 }) : html).buffer)
}

/** Makes the location valid in a header: drops and encodes what browsers would. */
function writable(location: string): string {
  return location
    .replace(/[\t\r\n]/g, '')
    .toWellFormed()
    .replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))
}

// These are about the origin's response and connection; the edge sets its own.
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
  // Belongs to one visitor; a stored page is for everyone.
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
  'x-markdown-tokens',
  'x-prepaint',
  'x-prepaint-form',
  'x-prepaint-variant',
  'x-prerender-reject-reason',
  'x-prerender-requestid',
  'x-prerender-throttled',
  'x-prerender-user-id',
  'x-request-id',
])

// RFC 9110, section 5.1 (token) and 5.5 (no control characters, so no line break).
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8000}$/

const LIMIT = 64

/**
 * Filters stored headers (from the origin and `prerender-header` metas): well-formed, not ours, at most 64. The first
 * `Content-Type` counts; the charset is always UTF-8.
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
