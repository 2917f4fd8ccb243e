import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { OriginPool, OriginResponse } from '@prepaint/outbound/client'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { within } from '@prepaint/runtime/within.ts'
import { openUpstream } from './exchange.ts'
import { responseHeadersFor } from './own-domain.ts'
import type { EarlyRequest } from './preload/early-requests.ts'
import type { GatewayLimits } from './request-counts.ts'
import type { OpenedSite } from './site.ts'
import { readSite } from './target.ts'

/** A document that was requested before a browser asks for it. */
export type AskedDocument = {
  /** It is null if it did not come in time, or not whole. */
  head: { status: number; headers: OutgoingHttpHeaders } | null
  /** Resolves with the unpacked body, or null if it is too large, too late or broken. Call once. */
  body(): Promise<Buffer | null>
  /** Call before the render, for a browser that asks in the same words. */
  handOver(): GivenDocument
  drop(): void
}

/** Takes the place of a render's own request. */
export type GivenDocument = EarlyRequest & { headers: OutgoingHttpHeaders }

/** The head may take this long, and the body as well. A browser that waits for the rest loses nothing. */
const WAIT_MS = 1_000
const LIMIT_BYTES = 512 * 1024
const KNOWN_SITES = 1_000

/** Requests documents as the browser would: with the headers of its last document from the same site. */
export class Documents {
  readonly #origins: OriginPool
  readonly #limits: GatewayLimits
  readonly #headers = new RecentMap<OutgoingHttpHeaders>({ limit: KNOWN_SITES })

  constructor(origins: OriginPool, limits: GatewayLimits) {
    this.#origins = origins
    this.#limits = limits
  }

  learn(site: OpenedSite, headers: OutgoingHttpHeaders): void {
    if (headers['cookie'] === undefined) this.#headers.set(keyOf(site), headers)
  }

  /** Resolves with null if no browser has asked this site yet. Rejects an invalid path or header. */
  async ask(site: OpenedSite, path: string): Promise<AskedDocument | null> {
    const headers = this.#headers.get(keyOf(site))
    if (headers === undefined) return null
    const proxied = readSite(site.customDomain, site.originUrl, site.originHeaders)
    const limits = this.#limits
    const sent = openUpstream({ origin: proxied.origin, path, headers }, this.#origins, limits)
    let response = sent.response
    const failed = sent.response.catch(() => null)
    const received = await within(WAIT_MS, failed, null)
    const isSound = received !== null && received.rawHeaders.join('').length <= limits.headerBytes
    return {
      head: isSound
        ? {
            status: received.statusCode,
            headers: responseHeadersFor('document', received.rawHeaders, proxied),
          }
        : null,
      async body() {
        if (received === null) return null
        const read = await readBody(received)
        response = read.response
        response.catch(() => {})
        return read.whole === null ? null : unpacked(read.whole, received.headers['content-encoding'])
      },
      handOver: () => ({ headers, sent: { call: sent.call, response }, markWasted() {} }),
      drop: () => sent.call.destroy(),
    }
  }
}

/** The visitor decides what the browser says of itself. */
function keyOf({ customDomain, originUrl, originHeaders = [], visitor = {} }: OpenedSite): string {
  return JSON.stringify([customDomain, originUrl, originHeaders, visitor])
}

/** Reads a body, and returns the same response once more for the browser. `whole` is null if it is too large or late. */
async function readBody(
  received: OriginResponse,
): Promise<{ whole: Buffer | null; response: Promise<OriginResponse> }> {
  const { body } = received
  const parts: Buffer[] = []
  let bytes = 0
  const { promise, resolve } = Promise.withResolvers<'whole' | 'part' | Error>()
  const take = (part: Buffer) => {
    parts.push(part)
    bytes += part.length
    if (bytes > LIMIT_BYTES) resolve('part')
  }
  const end = () => resolve('whole')
  body.on('data', take).once('end', end).once('error', resolve)
  const how = await within(WAIT_MS, promise, 'part')
  body.off('data', take).off('end', end).off('error', resolve)
  if (how instanceof Error) return { whole: null, response: Promise.reject(how) }
  body.pause()
  const content = Buffer.concat(parts)
  const again = Readable.from(followedBy(content, how === 'whole' ? null : body), { objectMode: false })
  return {
    whole: how === 'whole' ? content : null,
    response: Promise.resolve({ ...received, body: again }),
  }
}

async function* followedBy(content: Buffer, rest: Readable | null): AsyncGenerator<Buffer> {
  if (content.length > 0) yield content
  if (rest !== null) yield* rest as AsyncIterable<Buffer>
}

const UNPACK = new Map<string, (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>([
  ['gzip', promisify(zlib.gunzip)],
  ['deflate', promisify(zlib.inflate)],
  ['br', promisify(zlib.brotliDecompress)],
  ['zstd', promisify(zlib.zstdDecompress)],
])

/** Resolves with null if the body is broken or too large. */
async function unpacked(packed: Buffer, encoding = 'identity'): Promise<Buffer | null> {
  if (encoding === 'identity') return packed
  const unpack = UNPACK.get(encoding.trim().toLowerCase())
  return (await unpack?.(packed, { maxOutputLength: 4 * LIMIT_BYTES }).catch(() => null)) ?? null
}
