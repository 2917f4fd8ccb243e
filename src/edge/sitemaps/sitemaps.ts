import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import type { Clock } from '../../clock.ts'
import { chooseEncoding } from '../../http/accept-encoding.ts'
import { requestIdOf } from '../../http/request-id.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { OriginAgents } from '../../outbound/client/request.ts'
import type { Held } from '../../store/invalidation.ts'
import type { PageId } from '../../store/page-id.ts'
import type { StoredSitemap } from '../../store/stored-sitemap.ts'
import { CACHE_CONTROL } from '../page/prepared-page.ts'
import { isNotModified } from '../page/send-page.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { Verdict } from '../request/verdict.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import { createSitemapFence, type SitemapFetch } from './fence.ts'
import { fetchSitemap } from './fetch.ts'
import { createSitemapNames } from './names.ts'

export type SitemapDeps = {
  agents: OriginAgents
  clock: Clock
  log: Log
  readSitemap(page: PageId): Promise<StoredSitemap | null>
  storeSitemap(page: PageId, sitemap: StoredSitemap): Promise<void>
  /** Deletes the one that was fetched at that moment, unless it is gone or another. */
  dropSitemap(page: PageId, fetchedAtMs: number): Promise<void>
  /** Paths of the sitemaps that the domain's stored indexes name. */
  namedInIndexes(domain: DomainId): Promise<string[]>
  /** Pages that a sitemap names. */
  recordInSitemap(domain: DomainId, paths: readonly PagePath[]): Promise<void>
}

/** `pass; sitemap`: it was fetched for this answer. */
type SitemapVerdict = Extract<Verdict, 'hit' | 'stale' | 'pass; sitemap'>

export type Sitemaps = {
  /** Answers with a sitemap; null, with nothing written: the origin has to be asked as for anything else. */
  serve(req: EdgeRequest, res: EdgeResponse, domain: EdgeDomain, page: PageId): Promise<SitemapVerdict | null>
  /** Whether robots.txt or an index names the path as a sitemap. Never rejects. */
  isNamed(domain: EdgeDomain, path: PagePath): boolean | Promise<boolean>
  /** So that a fetch which began before a purge is not kept behind it. */
  held: Held
}

/** New products shall be found the same hour; search engines read a sitemap some times a day. */
const SITEMAP_FRESH_MS = 3_600_000

/** How long whoever could be given an older one waits for the newest; the fetch goes on and is stored. */
const STALE_WAIT_MS = 2_000

/** Fetched and rewritten at one time on this node; each takes a few megabytes. */
export const FETCHING_LIMIT = 8

/**
 * The sitemap cache: a sitemap is fetched from the origin, its `<loc>`s of the
 * origin's host become the custom domain's, and it is kept for an hour, or
 * longer while the origin fails or is slow.
 */
export function createSitemaps(deps: SitemapDeps): Sitemaps {
  const { clock, log } = deps
  const fetching = new Map<string, { fetch: SitemapFetch; sitemap: Promise<StoredSitemap | null> }>()
  const fence = createSitemapFence()
  const names = createSitemapNames(deps)

  async function serve(
    ...[req, res, domain, page]: Parameters<Sitemaps['serve']>
  ): ReturnType<Sitemaps['serve']> {
    const stored = await deps.readSitemap(page).catch((error: Error) => {
      log.error({ err: error }, 'the sitemap cache could not be asked')
      return null
    })
    const nowMs = clock.nowMs()
    const ageMs = stored === null ? Number.POSITIVE_INFINITY : nowMs - stored.fetchedAtMs
    if (stored !== null && ageMs < SITEMAP_FRESH_MS) return write(req, res, stored, 'hit', ageMs)
    const old = stored !== null && ageMs < domain.lifetimes.keepMs ? stored : null
    const fetched = await (old === null ? fetchOnce(domain, page) : soon(fetchOnce(domain, page)))
    if (res.destroyed) return 'pass; sitemap'
    if (fetched !== null) return write(req, res, fetched, 'pass; sitemap', 0)
    return old === null ? null : write(req, res, old, 'stale', ageMs)
  }

  function fetchOnce(domain: EdgeDomain, page: PageId): Promise<StoredSitemap | null> {
    const before = fetching.get(page.key)
    // Who asks after a purge gets what is there after it.
    if (before !== undefined && !before.fetch.isPurged) return before.sitemap
    if (fetching.size >= FETCHING_LIMIT) return Promise.resolve(null)
    const fetch = fence.begin(domain.id)
    const open = { fetch, sitemap: fetchAndStore(domain, page, fetch) }
    fetching.set(page.key, open)
    return open.sitemap.finally(() => {
      if (fetching.get(page.key) === open) fetching.delete(page.key)
    })
  }

  async function fetchAndStore(
    domain: EdgeDomain,
    page: PageId,
    fetch: SitemapFetch,
  ): Promise<StoredSitemap | null> {
    try {
      const fetched = await fetchSitemap(deps.agents, domain, page.path, (paths) =>
        deps.recordInSitemap(domain.id, paths),
      )
      const etag = createHash('sha256').update(fetched.bodyGzip).digest('base64url').slice(0, 22)
      const sitemap = { ...fetched, etag, fetchedAtMs: clock.nowMs() }
      if (fetch.isPurged) fence.drop(fetch)
      else await store(domain, page, sitemap, fetch)
      return sitemap
    } catch (error) {
      fence.drop(fetch)
      // The origin has none, or something that is none: whoever asked is passed on to it.
      log.debug({ err: error, domain: domain.name, path: page.path }, 'no sitemap to keep')
      return null
    }
  }

  async function store(
    ...[domain, page, sitemap, fetch]: [EdgeDomain, PageId, StoredSitemap, SitemapFetch]
  ): Promise<void> {
    await deps.storeSitemap(page, sitemap)
    fence.stored(fetch, () => {
      deps.dropSitemap(page, sitemap.fetchedAtMs).catch((error: Error) => {
        log.warn(
          { err: error, domain: domain.name, path: page.path },
          'a sitemap of before a purge could not be deleted',
        )
      })
    })
    if (!fetch.isPurged) names.learn(domain, sitemap.names)
  }

  return { serve, isNamed: names.isNamed, held: fence.held }
}

/** null when it takes too long. */
async function soon(fetched: Promise<StoredSitemap | null>): Promise<StoredSitemap | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), STALE_WAIT_MS)
  const first = await Promise.race([fetched, late])
  clearTimeout(timer)
  return first
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
