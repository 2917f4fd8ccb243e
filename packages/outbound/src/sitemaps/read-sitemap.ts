import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'

import type { PagePath } from '@prepaint/contract/ids.ts'
import { pathOn, type Site } from '@prepaint/contract/site-files/site.ts'
import type { OriginResponse } from '../client/request.ts'
import { type GetOptions, getFromSite } from '../get.ts'
import { NotASitemap, type SitemapEntry, SitemapScanner } from './scanner.ts'

/** Uncompressed: five times the protocol's limit. Stops decompression bombs. */
const SITEMAP_LIMIT_BYTES = 256 * 1024 * 1024
const TOTAL_MS = 10 * 60_000
const BATCH = 1_000

export type OwnEntry = { path: PagePath; changedAtMs: number | null }

/**
 * Streams a site's sitemap or index and passes its own entries to `take` in batches; `false` stops. Rejects unless
 * the origin answers 200 with a sitemap within the limits; entries taken before were valid.
 */
export async function readSitemap(
  options: GetOptions & { limitBytes?: number },
  site: Site,
  path: PagePath,
  signal: AbortSignal,
  take: (entries: readonly OwnEntry[], kind: 'pages' | 'sitemaps') => Promise<boolean>,
): Promise<void> {
  const { limitBytes = SITEMAP_LIMIT_BYTES } = options
  const within = AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)])
  const opened = await openSitemap(options, site, path, within, limitBytes)
  const scanner = new SitemapScanner()
  let batch: OwnEntry[] = []
  const pass = async (): Promise<boolean> => {
    if (batch.length === 0) return true
    const full = batch
    batch = []
    return take(full, scanner.root === 'sitemapindex' ? 'sitemaps' : 'pages')
  }
  const collect = async (entries: readonly SitemapEntry[]): Promise<boolean> => {
    for (const { location, changedAtMs } of entries) {
      const own = pathOn(site, location, path)
      if (own === null) continue
      batch.push({ path: own, changedAtMs })
      if (batch.length === BATCH && !(await pass())) return false
    }
    return true
  }
  try {
    for await (const piece of opened.pieces) {
      if (!(await collect(scanner.write(piece)))) return
    }
    if (await collect(scanner.end())) await pass()
  } catch (error) {
    // It broke off: what came before is whole.
    if (!signal.aborted) await pass()
    throw error
  } finally {
    opened.close()
  }
}

type OpenSitemap = {
  contentType: string | undefined
  /** A gzip file (RFC 1952, section 2.3.1), apart from `Content-Encoding`. */
  isGzipFile: boolean
  /** Decompressed. Throws NotASitemap beyond the limit. */
  pieces: AsyncIterable<Buffer>
  close(): void
}

/** Rejects unless the origin answers 200. */
export async function openSitemap(
  options: GetOptions,
  site: Site,
  path: PagePath,
  signal: AbortSignal,
  limitBytes: number,
): Promise<OpenSitemap> {
  const { statusCode, headers, body } = await getFromSite(options, site, path, signal)
  if (statusCode !== 200) {
    body.destroy()
    throw new NotASitemap(`the origin answered ${statusCode}`)
  }
  const pieces = decoded({ headers, body })[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await pieces.next()
  const isGzipFile = first.done !== true && first.value[0] === 0x1f && first.value[1] === 0x8b
  async function* whole() {
    for (let piece = first; piece.done !== true; piece = await pieces.next()) yield piece.value
  }
  async function* limited() {
    let bytes = 0
    for await (const piece of isGzipFile ? gunzipped(Readable.from(whole())) : whole()) {
      bytes += (piece as Buffer).length
      if (bytes > limitBytes) throw new NotASitemap(`larger than ${limitBytes} bytes`)
      yield piece as Buffer
    }
  }
  return {
    contentType: headers['content-type'],
    isGzipFile,
    pieces: limited(),
    close: () => void body.destroy(),
  }
}

function decoded({ headers, body }: Pick<OriginResponse, 'headers' | 'body'>): Readable {
  const encoding = headers['content-encoding']?.toLowerCase()
  return encoding === 'gzip' || encoding === 'x-gzip' ? gunzipped(body) : body
}

function gunzipped(packed: Readable): Readable {
  const gunzip = zlib.createGunzip()
  pipeline(packed, gunzip).catch((error: Error) => gunzip.destroy(error))
  return gunzip
}
