import zlib from 'node:zlib'
import type { PagePath } from '@prepaint/contract/ids.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type { GetOptions } from '@prepaint/outbound'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { chooseEncoding } from '@prepaint/runtime/http/accept-encoding.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Held } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { SitemapStore } from '../backend.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import { SitemapCache } from '../sitemaps/cache.ts'
import { SitemapNames } from '../sitemaps/names.ts'
import { CACHE_CONTROL } from './prepared-page.ts'
import { isNotModified } from './send-page.ts'
import { sendPieces } from './send-pieces.ts'

type SitemapVerdict = Extract<Verdict, 'hit' | 'stale' | 'pass; sitemap'>

/** Search engines read sitemaps a few times a day; new products should appear within the hour. */
const SITEMAP_FRESH_MS = 3_600_000

/** A request waits this long for a new sitemap when an old one is stored. The fetch continues and is stored. */
const STALE_WAIT_MS = 2_000

/** Serves sitemaps for an hour, or longer while the origin fails or is slow. */
export class Sitemaps {
  readonly #store: SitemapStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #cache: SitemapCache
  readonly #names: SitemapNames

  constructor(store: SitemapStore, get: GetOptions, clock: Clock, log: Log) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#cache = new SitemapCache(store, get, clock, log)
    this.#names = new SitemapNames(store, get, clock, log)
  }

  get held(): Held {
    return this.#cache.held
  }

  /** Returns null if nothing was written: pass the request to the origin. */
  async serve(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
    page: PageId,
  ): Promise<SitemapVerdict | null> {
    const stored = await this.#read(page)
    // What is fetched could not be stored.
    if (stored === 'unreadable') return null
    const ageMs = stored === null ? Number.POSITIVE_INFINITY : this.#clock.nowMs() - stored.fetchedAtMs
    if (stored !== null && ageMs < SITEMAP_FRESH_MS) return write(req, res, stored, 'hit', ageMs)
    const old = stored !== null && ageMs < domain.ages.keep_seconds * 1_000 ? stored : null
    const loading = this.#load(domain, page)
    const fetched = await (old === null ? loading : within(STALE_WAIT_MS, loading, null))
    if (res.destroyed) return 'pass; sitemap'
    if (fetched !== null) return write(req, res, fetched, 'pass; sitemap', 0)
    return old === null ? null : write(req, res, old, 'stale', ageMs)
  }

  /** Returns whether robots.txt or an index names the path. Never rejects. */
  isNamed(domain: EdgeDomain, path: PagePath): boolean | Promise<boolean> {
    return this.#names.isNamed(domain, path)
  }

  /** Answers as `isNamed` does, but asks neither the origin nor the store. */
  isKnownAsNamed(domain: EdgeDomain, path: PagePath): boolean {
    return this.#names.isKnownAsNamed(domain, path)
  }

  async #read(page: PageId): Promise<StoredSitemap | 'unreadable' | null> {
    try {
      return await this.#store.read(page)
    } catch (error) {
      this.#log.error({ err: error }, 'the sitemap cache could not be read')
      return 'unreadable'
    }
  }

  async #load(domain: EdgeDomain, page: PageId): Promise<StoredSitemap | null> {
    const fetched = await this.#cache.load(domain, page)
    if (fetched !== null) this.#names.learn(domain, fetched.names)
    return fetched
  }
}

async function write(
  req: EdgeRequest,
  res: EdgeResponse,
  sitemap: StoredSitemap,
  verdict: SitemapVerdict,
  ageMs: number,
): Promise<SitemapVerdict> {
  const encoding = chooseEncoding(req.headers['accept-encoding'] as string | undefined, ['gzip', 'identity'])
  const isEncoded = encoding === 'gzip' && !sitemap.gzipFile
  const lastModifiedMs = Math.floor(sitemap.fetchedAtMs / 1_000) * 1_000
  const etag = `"${sitemap.etag}${isEncoded ? '-gzip' : ''}"`
  const ttl = Math.floor((SITEMAP_FRESH_MS - ageMs) / 1_000)
  const headers = ['Cache-Control', CACHE_CONTROL, 'Vary', 'Accept-Encoding, User-Agent', 'ETag', etag]
  headers.push('Last-Modified', new Date(lastModifiedMs).toUTCString())
  headers.push('Age', `${Math.max(0, Math.floor(ageMs / 1_000))}`, 'X-Prepaint', verdict)
  headers.push('X-Request-Id', requestIdOf(req))
  headers.push(
    'Cache-Status',
    verdict === 'pass; sitemap' ? 'Prepaint; fwd=miss; stored' : `Prepaint; hit; ttl=${ttl}`,
  )
  if (isNotModified(req.headers, etag, lastModifiedMs)) {
    res.writeHead(304, headers).end()
    return verdict
  }
  headers.push('Content-Type', sitemap.contentType)
  const isPlain = !isEncoded && !sitemap.gzipFile
  if (isEncoded) headers.push('Content-Encoding', 'gzip')
  if (!isPlain) headers.push('Content-Length', `${sitemap.bodyGzip.length}`)
  res.writeHead(200, headers)
  if (req.method === 'HEAD') res.end()
  else if (isPlain) {
    const unpacked = zlib.createGunzip()
    unpacked.end(sitemap.bodyGzip)
    await sendPieces(unpacked, res)
  } else res.end(sitemap.bodyGzip)
  return verdict
}
