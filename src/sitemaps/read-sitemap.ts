import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'

import type { PagePath } from '../ids.ts'
import { type GetOptions, getFromSite } from '../outbound/get.ts'
import { createEntryScanner, NotASitemap, type SitemapEntry } from './entry-scanner.ts'
import { pathOn, type Site } from './site.ts'

/** Written out. Five times what the protocol allows; also what stops a decompression bomb. */
export const SITEMAP_LIMIT_BYTES = 256 * 1024 * 1024
/** For one sitemap. */
const TOTAL_MS = 10 * 60_000
/** Entries that are handed on at a time, and held. */
const BATCH = 1_000

/** An entry of the site's own. */
export type OwnEntry = { path: PagePath; changedAtMs: number | null }

/**
 * Reads one sitemap, or index of sitemaps, of a site as it streams by, plain
 * or gzip: `take` is handed its own entries in batches of at most 1,000, and
 * the origin waits while it is at it; entries of other hosts are left out.
 * Rejects when the origin answers anything but 200 with a sitemap within the
 * limits; what was taken until then was in it. `take` says false: enough.
 */
export async function readSitemap(
  options: GetOptions & { limitBytes?: number },
  site: Site,
  path: PagePath,
  signal: AbortSignal,
  take: (entries: readonly OwnEntry[], kind: 'pages' | 'sitemaps') => Promise<boolean>,
): Promise<void> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)])
  const answer = await getFromSite(options, site, path, ends)
  if (answer.statusCode !== 200) {
    answer.destroy()
    throw new NotASitemap(`the origin answered ${answer.statusCode}`)
  }
  const { limitBytes = SITEMAP_LIMIT_BYTES } = options
  const scanner = createEntryScanner()
  let batch: OwnEntry[] = []
  let bytes = 0
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
    for await (const piece of await unpacked(answer)) {
      bytes += piece.length
      if (bytes > limitBytes) throw new NotASitemap(`larger than ${limitBytes} bytes`)
      if (!(await collect(scanner.write(piece)))) return
    }
    if (await collect(scanner.end())) await pass()
  } finally {
    answer.destroy()
  }
}

/** The content without its `Content-Encoding`, and without the gzip file that it may be (RFC 1952, section 2.3.1). */
async function unpacked(answer: IncomingMessage): Promise<Readable> {
  const encoding = answer.headers['content-encoding']?.toLowerCase()
  const content = encoding === 'gzip' || encoding === 'x-gzip' ? gunzipped(answer) : answer
  const pieces = content[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await pieces.next()
  const isGzip = first.done !== true && first.value[0] === 0x1f && first.value[1] === 0x8b
  async function* whole() {
    for (let piece = first; piece.done !== true; piece = await pieces.next()) yield piece.value
  }
  const all = Readable.from(whole())
  return isGzip ? gunzipped(all) : all
}

function gunzipped(packed: Readable): Readable {
  const gunzip = zlib.createGunzip()
  pipeline(packed, gunzip).catch((error: Error) => gunzip.destroy(error))
  return gunzip
}
