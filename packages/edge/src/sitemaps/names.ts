import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { FilesOf } from '@prepaint/contract/site-files/robots-text.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import type { GetOptions } from '@prepaint/outbound'
import { fetchRobots, readRobots } from '@prepaint/outbound/sitemaps'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { LRUCache } from 'lru-cache'
import type { SitemapStore } from '../backend.ts'

/** `files` has the owner's text of robots.txt, beside the origin's. */
type NamedSite = Site & FilesOf

type Names = { site: NamedSite; paths: Set<string>; readAtMs: number }

const REREAD_MS = 3_600_000
const REREAD_FAILED_MS = 5_000
const ROBOTS_WAIT_MS = 2_000
/** The protocol's limit of an index, here for a domain. Further names are not known. */
const NAMES_LIMIT = 50_000
/** Domains whose names are remembered. */
const DOMAINS_LIMIT = 2_000

/** Knows sitemaps that robots.txt or stored indexes name. Asked only on cache misses, so hits never wait for it. */
export class SitemapNames {
  readonly #store: SitemapStore
  readonly #get: GetOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #known = new LRUCache<DomainId, Names>({ max: DOMAINS_LIMIT })
  readonly #reading = new Map<DomainId, Promise<Names>>()

  constructor(store: SitemapStore, get: GetOptions, clock: Clock, log: Log) {
    this.#store = store
    this.#get = get
    this.#clock = clock
    this.#log = log
  }

  /** Never rejects. */
  isNamed(site: NamedSite, path: PagePath): boolean | Promise<boolean> {
    const names = this.#known.get(site.id)
    // Changed settings create a new domain object.
    const isCurrent = names !== undefined && names.site === site
    if (isCurrent && this.#clock.nowMs() - names.readAtMs < REREAD_MS) return names.paths.has(path)
    return this.#join(site).then(({ paths }) => paths.has(path))
  }

  isKnownAsNamed(site: Site, path: PagePath): boolean {
    return this.#known.get(site.id)?.paths.has(path) === true
  }

  /** Adds the names in an index that was just fetched. */
  learn(site: Site, paths: readonly string[]): void {
    const names = this.#known.get(site.id)
    if (names === undefined) return
    for (const path of paths) if (names.paths.size < NAMES_LIMIT) names.paths.add(path)
  }

  #join(site: NamedSite): Promise<Names> {
    const open = this.#reading.get(site.id)
    if (open !== undefined) return open
    const names = this.#read(site).finally(() => this.#reading.delete(site.id))
    this.#reading.set(site.id, names)
    return names
  }

  async #read(site: NamedSite): Promise<Names> {
    let isWhole = true
    const failed = (error: Error): string[] => {
      this.#log.debug({ err: error, domain: site.name }, 'names of sitemaps could not be read')
      return []
    }
    const namedIn = (text: string): readonly string[] => readRobots(text, site).sitemaps
    const robots = fetchRobots(this.#get, site, AbortSignal.timeout(ROBOTS_WAIT_MS))
    const named = await Promise.all([
      robots.then(({ text }) => namedIn(text)).catch(failed),
      namedIn(site.files.robots.text ?? ''),
      this.#store.namedInIndexes(site.id).catch((error: Error) => {
        isWhole = false
        return failed(error)
      }),
    ])
    const paths = new Set(named.flat())
    // `/` is a page, whatever robots.txt says.
    paths.delete('/')
    const names = { site, paths, readAtMs: this.#clock.nowMs() }
    // What the database could not say is asked for again soon.
    if (!isWhole) names.readAtMs -= REREAD_MS - REREAD_FAILED_MS
    this.#known.set(site.id, names)
    return names
  }
}
