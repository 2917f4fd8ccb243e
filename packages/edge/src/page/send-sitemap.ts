import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import type { PagePath } from '@prepaint/contract/ids.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import { chooseEncoding } from '@prepaint/runtime/http/accept-encoding.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Held } from '@prepaint/runtime/invalidation.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import { SitemapCache, type SitemapCacheDeps } from '../sitemaps/cache.ts'
import { createSitemapNames, type SitemapNamesDeps } from '../sitemaps/names.ts'
import { CACHE_CONTROL } from './prepared-page.ts'
import { isNotModified } from './send-page.ts'

export type SitemapDeps = SitemapCacheDeps & SitemapNamesDeps<EdgeDomain>

type SitemapVerdict = Extract<Verdict, 'hit' | 'stale' | 'pass; sitemap'>

export type Sitemaps = {
  /** Null: nothing was written; pass the request to the origin. */
  serve(req: EdgeRequest, res: EdgeResponse, domain: EdgeDomain, page: PageId): Promise<SitemapVerdict | null>
  /** Whether robots.txt or an index names the path. Never rejects. */
  isNamed(domain: EdgeDomain, path: PagePath): boolean | Promise<boolean>
  /** `isNamed` without asking anybody. */
  isKnownAsNamed(domain: EdgeDomain, path: PagePath): boolean
  held: Held
}

/** Search engines read sitemaps a few times a day; new products should appear within the hour. */
const SITEMAP_FRESH_MS = 3_600_000

/** Longest wait for a new sitemap when an old one is stored. The fetch continues and is stored. */
const STALE_WAIT_MS = 2_000

/** Serves sitemaps for an hour, or longer while the origin fails or is slow. */
export function createSitemaps(deps: SitemapDeps): Sitemaps {
  const { clock, log } = deps
  const cache = new SitemapCache(deps)
  const names = createSitemapNames(deps)

  async function serve(
    ...[req, res, domain, page]: Parameters<Sitemaps['serve']>
  ): ReturnType<Sitemaps['serve']> {
    const stored = await deps.store.read(page).catch((error: Error) => {
      log.error({ err: error }, 'the sitemap cache could not be read')
      return null
    })
    const ageMs = stored === null ? Number.POSITIVE_INFINITY : clock.nowMs() - stored.fetchedAtMs
    if (stored !== null && ageMs < SITEMAP_FRESH_MS) return write(req, res, stored, 'hit', ageMs)
    const old = stored !== null && ageMs < domain.ages.keep_seconds * 1_000 ? stored : null
    const fetched = await (old === null
      ? load(domain, page)
      : within(STALE_WAIT_MS, load(domain, page), null))
    if (res.destroyed) return 'pass; sitemap'
    if (fetched !== null) return write(req, res, fetched, 'pass; sitemap', 0)
    return old === null ? null : write(req, res, old, 'stale', ageMs)
  }

  async function load(domain: EdgeDomain, page: PageId): Promise<StoredSitemap | null> {
    const fetched = await cache.load(domain, page)
    if (fetched !== null) names.learn(domain, fetched.names)
    return fetched
  }

  return { serve, isNamed: names.isNamed, isKnownAsNamed: names.isKnownAsNamed, held: cache.held }
}

async function write(
  req: EdgeRequest,
  res: EdgeResponse,
  sitemap: StoredSitemap,
  verdict: SitemapVerdict,
  ageMs: number,
): Promise<SitemapVerdict> {
  const encoding = chooseEncoding(req.headers['accept-encoding'] as string | undefined, ['gzip', 'identity'])
  const encoded = encoding === 'gzip' && !sitemap.gzipFile
  const lastModifiedMs = Math.floor(sitemap.fetchedAtMs / 1_000) * 1_000
  const etag = `"${sitemap.etag}${encoded ? '-gzip' : ''}"`
  const ttl = Math.floor((SITEMAP_FRESH_MS - ageMs) / 1_000)
  const headers = [
    ...['Cache-Control', CACHE_CONTROL, 'Vary', 'Accept-Encoding, User-Agent', 'ETag', etag],
    ...['Last-Modified', new Date(lastModifiedMs).toUTCString()],
    ...['Age', `${Math.max(0, Math.floor(ageMs / 1_000))}`, 'X-Prepaint', verdict],
    ...['X-Request-Id', requestIdOf(req)],
    ...['Cache-Status', `Prepaint; ${verdict === 'pass; sitemap' ? 'fwd=miss; stored' : `hit; ttl=${ttl}`}`],
  ]
  if (isNotModified(req.headers, etag, lastModifiedMs)) {
    res.writeHead(304, headers).end()
    return verdict
  }
  headers.push('Content-Type', sitemap.contentType)
  const plain = !encoded && !sitemap.gzipFile
  if (encoded) headers.push('Content-Encoding', 'gzip')
  if (!plain) headers.push('Content-Length', `${sitemap.bodyGzip.length}`)
  res.writeHead(200, headers)
  if (req.method === 'HEAD') res.end()
  else if (plain) await pipeline(Readable.from([sitemap.bodyGzip]), zlib.createGunzip(), res)
  else res.end(sitemap.bodyGzip)
  return verdict
}
