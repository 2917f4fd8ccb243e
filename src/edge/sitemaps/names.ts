import { LRUCache } from 'lru-cache'

import type { Clock } from '../../clock.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { OriginAgents } from '../../outbound/client/request.ts'
import { normalisePath } from '../../store/path.ts'
import type { EdgeDomain } from '../request/domain.ts'
import { getFromOrigin } from './fetch.ts'

type SitemapNamesDeps = {
  agents: OriginAgents
  clock: Clock
  log: Log
  namedInIndexes(domain: DomainId): Promise<string[]>
}

type Names = { domain: EdgeDomain; paths: Set<string>; readAtMs: number }

const REREAD_MS = 3_600_000
/** Of robots.txt: crawlers read no further either (RFC 9309, section 2.5). */
const ROBOTS_LIMIT_BYTES = 500 * 1024
const ROBOTS_WAIT_MS = 2_000
/** Of one domain: what an index may name at most. */
const NAMES_LIMIT = 50_000

/**
 * Which paths of a domain are sitemaps although nothing in the path says so:
 * those that robots.txt names and those that stored indexes name. Asked only
 * for what is not in the store of pages, so hits never wait for it.
 */
export function createSitemapNames({ agents, clock, log, namedInIndexes }: SitemapNamesDeps) {
  const known = new LRUCache<DomainId, Names>({ max: 2_000 })
  const reading = new Map<DomainId, Promise<Names>>()

  function isNamed(domain: EdgeDomain, path: PagePath): boolean | Promise<boolean> {
    const names = known.get(domain.id)
    const current = names !== undefined && names.domain === domain
    if (current && clock.nowMs() - names.readAtMs < REREAD_MS) return names.paths.has(path)
    return read(domain).then(({ paths }) => paths.has(path))
  }

  function learn(domain: EdgeDomain, paths: readonly string[]): void {
    const names = known.get(domain.id)
    for (const path of paths) if (names !== undefined && names.paths.size < NAMES_LIMIT) names.paths.add(path)
  }

  function read(domain: EdgeDomain): Promise<Names> {
    const open = reading.get(domain.id)
    if (open !== undefined) return open
    const names = readAll(domain).finally(() => reading.delete(domain.id))
    reading.set(domain.id, names)
    return names
  }

  async function readAll(domain: EdgeDomain): Promise<Names> {
    const failed = (error: Error): string[] => {
      log.debug({ err: error, domain: domain.name }, 'names of sitemaps could not be read')
      return []
    }
    const robots = readRobots(agents, domain).then((text) => sitemapsIn(text, domain), failed)
    const indexes = namedInIndexes(domain.id).catch(failed)
    const paths = new Set([...(await robots), ...(await indexes)])
    // `/` is a page, whatever anybody says.
    paths.delete('/')
    const names = { domain, paths, readAtMs: clock.nowMs() }
    known.set(domain.id, names)
    return names
  }

  return { isNamed, learn }
}

async function readRobots(agents: OriginAgents, domain: EdgeDomain): Promise<string> {
  const answer = await getFromOrigin(
    agents,
    domain,
    '/robots.txt',
    AbortSignal.timeout(ROBOTS_WAIT_MS),
    'identity',
  )
  const parts: Buffer[] = []
  let bytes = 0
  if (answer.statusCode === 200) {
    for await (const part of answer as AsyncIterable<Buffer>) {
      parts.push(part)
      bytes += part.length
      if (bytes > ROBOTS_LIMIT_BYTES) break
    }
  }
  answer.destroy()
  return Buffer.concat(parts).subarray(0, ROBOTS_LIMIT_BYTES).toString('utf8')
}

/** Stored paths of the `Sitemap:` lines that lie on the domain, under its own name or the origin's. */
function sitemapsIn(robots: string, domain: EdgeDomain): PagePath[] {
  return [...robots.matchAll(/^[ \t]*sitemap[ \t]*:[ \t]*([^\s#]+)/gim)]
    .slice(0, 1_000)
    .flatMap(([, reference]) => {
      const base = `https://${domain.name}`
      if (!URL.canParse(reference!, base)) return []
      const url = new URL(reference!, base)
      if (![domain.name, domain.origin.authority, domain.origin.hostname].includes(url.host)) return []
      const path = normalisePath(`${url.pathname}${url.search}`, domain.query)
      return path === null ? [] : [path]
    })
}
