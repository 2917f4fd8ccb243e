import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import type { GetOptions } from '@prepaint/outbound'
import { fetchRobots, readRobots } from '@prepaint/outbound/sitemaps'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { LRUCache } from 'lru-cache'
import type { SitemapStore } from '../backend.ts'

export type SitemapNamesDeps<Domain extends Site> = {
  get: GetOptions
  clock: Clock
  log: Log
  store: SitemapStore
  /** The owner's text, beside the origin's. */
  ownRobots(domain: Domain): string
}

type Names<Domain> = { site: Domain; paths: Set<string>; readAtMs: number }

const REREAD_MS = 3_600_000
const ROBOTS_WAIT_MS = 2_000
/** Per domain: the protocol's limit of an index. */
const NAMES_LIMIT = 50_000

/** Knows sitemaps that robots.txt or stored indexes name. Asked only on cache misses, so hits never wait for it. */
export function createSitemapNames<Domain extends Site>(deps: SitemapNamesDeps<Domain>) {
  const { get, clock, log, store, ownRobots } = deps
  const known = new LRUCache<DomainId, Names<Domain>>({ max: 2_000 })
  const reading = new Map<DomainId, Promise<Names<Domain>>>()

  function isNamed(site: Domain, path: PagePath): boolean | Promise<boolean> {
    const names = known.get(site.id)
    const isCurrent = names !== undefined && names.site === site
    if (isCurrent && clock.nowMs() - names.readAtMs < REREAD_MS) return names.paths.has(path)
    return read(site).then(({ paths }) => paths.has(path))
  }

  function isKnownAsNamed(site: Site, path: PagePath): boolean {
    return known.get(site.id)?.paths.has(path) === true
  }

  function learn(site: Site, paths: readonly string[]): void {
    const names = known.get(site.id)
    for (const path of paths) if (names !== undefined && names.paths.size < NAMES_LIMIT) names.paths.add(path)
  }

  function read(site: Domain): Promise<Names<Domain>> {
    const open = reading.get(site.id)
    if (open !== undefined) return open
    const names = readAll(site).finally(() => reading.delete(site.id))
    reading.set(site.id, names)
    return names
  }

  async function readAll(site: Domain): Promise<Names<Domain>> {
    const failed = (error: Error): string[] => {
      log.debug({ err: error, domain: site.name }, 'names of sitemaps could not be read')
      return []
    }
    const namedIn = (text: string): readonly string[] => readRobots(text, site).sitemaps
    const robots = fetchRobots(get, site, AbortSignal.timeout(ROBOTS_WAIT_MS))
    const named = await Promise.all([
      robots.then(({ text }) => namedIn(text)).catch(failed),
      namedIn(ownRobots(site)),
      store.namedInIndexes(site.id).catch(failed),
    ])
    const paths = new Set(named.flat())
    // `/` is a page, whatever robots.txt says.
    paths.delete('/')
    const names = { site, paths, readAtMs: clock.nowMs() }
    known.set(site.id, names)
    return names
  }

  return { isNamed, isKnownAsNamed, learn }
}
