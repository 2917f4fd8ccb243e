import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { pathOn, publicUrl, type Site } from '@prepaint/contract/site-files/site.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type { GetOptions } from '@prepaint/outbound'
import { openSitemap, type SitemapEntry, SitemapScanner } from '@prepaint/outbound/sitemaps'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import type { SitemapStore } from '../backend.ts'

export type CachedSite = Site & { account: number }

/** A fetch that takes longer fails. */
const TOTAL_MS = 60_000
/** The sitemap protocol's limits. */
const LIMIT_BYTES = 50 * 1024 * 1024
const ENTRIES_LIMIT = 50_000
const BATCH = 1_000

/** A node has this many concurrent fetches, at most half for one account. Each needs a few megabytes. */
export const FETCHING_LIMIT = 8

/** A purge notification comes within this time. Sitemaps stored within it are deleted, at worst needlessly. */
const HEARD_OF_WITHIN_MS = 10_000

/** `isPurged` says that a purge came after it began. Waiting requests get the result, which is not kept. */
type Fetch = { page: PageId; isPurged: boolean; undo: (() => void) | null }

/** Fetches, rewrites and stores sitemaps. A fetch that began before a purge leaves nothing stored. */
export class SitemapCache {
  readonly #store: SitemapStore
  readonly #get: GetOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #places = new ShareByAccount(FETCHING_LIMIT)
  readonly #fetching = new Map<string, { fetch: Fetch; sitemap: Promise<StoredSitemap | null> }>()
  /** Fetches that are in progress, or stored so recently that a purge may still arrive. */
  readonly #fetches = new Set<Fetch>()
  readonly held: Held = {
    invalidate: (what) => this.#purge(({ domain }) => isPurgeOf(what, domain)),
    lost: () => this.#purge(() => true),
  }

  constructor(store: SitemapStore, get: GetOptions, clock: Clock, log: Log) {
    this.#store = store
    this.#get = get
    this.#clock = clock
    this.#log = log
  }

  /** Returns null if the origin has no sitemap there, or if a limit is reached. Concurrent requests share a fetch. */
  load(site: CachedSite, page: PageId): Promise<StoredSitemap | null> {
    const before = this.#fetching.get(page.key)
    // Requests after a purge need a new fetch.
    if (before !== undefined && !before.fetch.isPurged) return before.sitemap
    const leave = this.#places.enter(site.account)
    if (leave === null) return Promise.resolve(null)
    const fetch: Fetch = { page, isPurged: false, undo: null }
    this.#fetches.add(fetch)
    const open = { fetch, sitemap: this.#fetchAndStore(site, fetch) }
    this.#fetching.set(page.key, open)
    return open.sitemap.finally(() => {
      leave()
      if (this.#fetching.get(page.key) === open) this.#fetching.delete(page.key)
    })
  }

  async #fetchAndStore(site: CachedSite, fetch: Fetch): Promise<StoredSitemap | null> {
    const { page } = fetch
    try {
      const fetched = await fetchSitemap(this.#store, this.#get, site, page.path)
      const etag = createHash('sha256').update(fetched.bodyGzip).digest('base64url').slice(0, 22)
      const sitemap = { ...fetched, etag, fetchedAtMs: this.#clock.nowMs() }
      if (fetch.isPurged) this.#fetches.delete(fetch)
      else {
        await this.#store.store(page, sitemap)
        this.#watchForPurge(fetch, sitemap.fetchedAtMs, site)
      }
      return sitemap
    } catch (error) {
      this.#fetches.delete(fetch)
      // No valid sitemap: the request is passed to the origin.
      this.#log.debug({ err: error, domain: site.name, path: page.path }, 'no sitemap to keep')
      return null
    }
  }

  /** Deletes the stored sitemap if a purge came while it was stored, or comes now. */
  #watchForPurge(fetch: Fetch, fetchedAtMs: number, { name }: CachedSite): void {
    const undo = () => {
      this.#fetches.delete(fetch)
      this.#store.drop(fetch.page, fetchedAtMs).catch((error: Error) => {
        const sitemap = { domain: name, path: fetch.page.path }
        this.#log.warn({ err: error, ...sitemap }, 'a sitemap from before a purge could not be deleted')
      })
    }
    if (fetch.isPurged) {
      undo()
      return
    }
    fetch.undo = undo
    setTimeout(() => this.#fetches.delete(fetch), HEARD_OF_WITHIN_MS).unref()
  }

  #purge(isMeant: (page: PageId) => boolean): void {
    for (const fetch of this.#fetches) {
      if (!isMeant(fetch.page)) continue
      fetch.isPurged = true
      fetch.undo?.()
    }
  }
}

/** Any purge deletes all sitemaps of its domain. */
function isPurgeOf(what: Invalidation, domain: DomainId): boolean {
  if (what.kind === 'everything') return true
  if (!('domain' in what) || what.domain !== domain) return false
  return what.kind !== 'page' || what.purged
}

type FetchedSitemap = Omit<StoredSitemap, 'etag' | 'fetchedAtMs'>

/** Rewrites the sitemap while reading, and records its pages. Rejects without a sitemap within the limits. */
async function fetchSitemap(
  store: SitemapStore,
  get: GetOptions,
  site: CachedSite,
  path: PagePath,
): Promise<FetchedSitemap> {
  const signal = AbortSignal.timeout(TOTAL_MS)
  const opened = await openSitemap(get, site, path, signal, LIMIT_BYTES)
  const paths = new Set<PagePath>()
  const scanner = new SitemapScanner((location) => publicUrl(site, location))
  const note = (entries: readonly SitemapEntry[]) => {
    for (const { location } of entries) {
      const own = paths.size < ENTRIES_LIMIT && URL.canParse(location) ? pathOn(site, location) : null
      if (own !== null) paths.add(own)
    }
  }
  async function* rewritten() {
    for await (const piece of opened.pieces) {
      note(scanner.write(piece))
      yield scanner.takeText()
    }
    note(scanner.end())
    yield scanner.takeText()
  }
  const packed: Buffer[] = []
  const collect = async (parts: AsyncIterable<Buffer>) => {
    for await (const part of parts) packed.push(part)
  }
  try {
    await pipeline(rewritten, zlib.createGzip({ level: 6 }), collect, { signal })
  } finally {
    opened.close()
    // The pages of a sitemap that breaks off count too: what came before is whole.
    if (scanner.root !== null && scanner.root !== 'sitemapindex') {
      const pages = [...paths]
      for (let at = 0; at < pages.length; at += BATCH) {
        await store.recordNamed(site.id, pages.slice(at, at + BATCH))
      }
    }
  }
  const usualType = scanner.root === 'text' ? 'text/plain; charset=utf-8' : 'application/xml'
  return {
    contentType: contentTypeOf(opened.contentType ?? '', opened.isGzipFile, usualType),
    gzipFile: opened.isGzipFile,
    names: scanner.root === 'sitemapindex' ? [...paths] : [],
    bodyGzip: Buffer.concat(packed),
  }
}

function contentTypeOf(type: string, isGzipFile: boolean, usualType: string): string {
  if (/^[\w.+/-]+(?:; *charset=[\w-]+)?$/i.test(type) && !/html/i.test(type)) return type
  return isGzipFile ? 'application/gzip' : usualType
}
