import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'

import type { PagePath } from '../../ids.ts'
import { type OriginAgents, originRequest } from '../../outbound/client/request.ts'
import { VIA_NAME } from '../../outbound/headers.ts'
import { normalisePath } from '../../store/path.ts'
import type { StoredSitemap } from '../../store/stored-sitemap.ts'
import type { EdgeDomain } from '../request/domain.ts'
import { NotASitemap, SitemapScanner } from './scan.ts'

/** The origin may be silent for so long. */
const SILENCE_MS = 15_000
/** A crawler does not wait for longer than this for all of it. */
const TOTAL_MS = 60_000
/** The sitemap protocol's own limit of entries. */
const ENTRIES_LIMIT = 50_000
const BATCH = 1_000

/**
 * Fetches a sitemap from the origin and rewrites it on the way; `record` takes
 * the pages that it names, in batches. Rejects when the origin answers anything
 * but 200 with a sitemap within the limits.
 */
export async function fetchSitemap(
  agents: OriginAgents,
  domain: EdgeDomain,
  path: PagePath,
  record: (paths: readonly PagePath[]) => Promise<void>,
): Promise<Omit<StoredSitemap, 'etag' | 'fetchedAtMs'>> {
  const signal = AbortSignal.timeout(TOTAL_MS)
  const answer = await getFromOrigin(agents, domain, path, signal)
  if (answer.statusCode !== 200) {
    answer.destroy()
    throw new NotASitemap(`the origin answered ${answer.statusCode}`)
  }
  const { gzipFile, content } = await looked(decoded(answer))

  const paths = new Set<PagePath>()
  const scanner = new SitemapScanner({
    rewrite: (location) => publicUrl(location, domain),
    found: (location) => {
      const found = paths.size < ENTRIES_LIMIT ? pathOn(location, domain) : null
      if (found !== null) paths.add(found)
    },
  })
  const gzip = zlib.createGzip({ level: 6 })
  const body: Buffer[] = []
  const collect = async (parts: AsyncIterable<Buffer>) => {
    for await (const part of parts) body.push(part)
  }
  await pipeline(gzipFile ? unpacked(content) : content, scanner, gzip, collect, { signal })

  const named = [...paths]
  if (scanner.root === 'urlset') {
    for (let at = 0; at < named.length; at += BATCH) await record(named.slice(at, at + BATCH))
  }
  return {
    contentType: contentTypeOf(answer, gzipFile),
    gzipFile,
    names: scanner.root === 'sitemapindex' ? named : [],
    bodyGzip: Buffer.concat(body),
  }
}

/** A GET of our own. Resolves with the answer's head; its body fails when `signal` ends. */
export function getFromOrigin(
  agents: OriginAgents,
  domain: EdgeDomain,
  path: string,
  signal: AbortSignal,
  encoding: 'gzip' | 'identity' = 'gzip',
): Promise<IncomingMessage> {
  const headers = ['Host', domain.origin.authority, 'Accept-Encoding', encoding, 'Accept', '*/*']
  headers.push('User-Agent', 'Prepaint', 'Via', `1.1 ${VIA_NAME}`, 'X-Forwarded-Host', domain.name)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const upstream = originRequest(agents, domain, { method: 'GET', path, headers, answerWaitMs: SILENCE_MS })
  const end = () => void upstream.destroy(signal.reason as Error)
  signal.addEventListener('abort', end, { once: true })
  upstream.on('close', () => signal.removeEventListener('abort', end))
  upstream.on('response', resolve).on('error', reject).end()
  return promise
}

/** The body without its `Content-Encoding`. */
function decoded(answer: IncomingMessage): Readable {
  const encoding = answer.headers['content-encoding']?.toLowerCase()
  return encoding === 'gzip' || encoding === 'x-gzip' ? unpacked(answer) : answer
}

/** A bomb meets the limit of whoever reads it. */
function unpacked(packed: Readable): Readable {
  const gunzip = zlib.createGunzip()
  pipeline(packed, gunzip).catch((error: Error) => gunzip.destroy(error))
  return gunzip
}

/** Whether a stream holds a gzip file (RFC 1952, section 2.3.1), and the stream as if nobody had looked. */
async function looked(stream: Readable): Promise<{ gzipFile: boolean; content: Readable }> {
  const parts = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await parts.next()
  const gzipFile = first.done !== true && first.value[0] === 0x1f && first.value[1] === 0x8b
  async function* whole() {
    for (let part = first; part.done !== true; part = await parts.next()) yield part.value
  }
  const content = Readable.from(whole())
  content.once('close', () => stream.destroy())
  return { gzipFile, content }
}

/** A location on the origin's host, on the custom domain; null for any other. */
function publicUrl(location: string, { origin, name }: EdgeDomain): string | null {
  if (!URL.canParse(location)) return null
  const url = new URL(location)
  if (url.host !== origin.authority && url.host !== origin.hostname) return null
  return `https://${name}${url.pathname}${url.search}`
}

/** The stored path of a location that is the domain's own, under either name. */
function pathOn(location: string, domain: EdgeDomain): PagePath | null {
  if (!URL.canParse(location)) return null
  const url = new URL(location)
  const own = url.host === domain.name || publicUrl(location, domain) !== null
  return own ? normalisePath(`${url.pathname}${url.search}`, domain.query) : null
}

function contentTypeOf(answer: IncomingMessage, gzipFile: boolean): string {
  const type = answer.headers['content-type'] ?? ''
  if (/^[\w.+/-]+(?:; *charset=[\w-]+)?$/i.test(type) && !/html/i.test(type)) return type
  return gzipFile ? 'application/gzip' : 'application/xml'
}
