import type { Queryable } from '../../db/transaction.ts'
import type { DomainId, DomainName } from '../../ids.ts'
import { type Origin, readOrigin } from '../../outbound/origin.ts'
import { RecentMap } from '../../recent-map.ts'
import type { DomainSettings, PathRule } from '../../sites/domain-settings.ts'
import { readDomainSettings } from '../../sites/domain-settings.ts'
import { domainByHost } from '../../sites/domains.ts'
import type { Lifetimes } from '../../store/freshness.ts'
import { CacheTrust, type Held, type Invalidation } from '../../store/invalidation.ts'
import type { QueryRule } from '../../store/path.ts'
import { type OwnCrawlers, ownCrawlers } from '../crawlers/crawler-test.ts'

/** A row of `domain`, as `findDomain` gives it. */
export type DomainRow = {
  id: number
  account_id: number
  custom_domain: string
  origin_url: string
  is_active: boolean
  settings: unknown
  /** Of the certificate in use; null or absent: there is none. */
  certificate_ends_at?: Date | null
}

/** What the edge needs to know of a domain, read once and worked out once. */
export type EdgeDomain = {
  id: DomainId
  account: number
  name: DomainName
  origin: Origin
  isActive: boolean
  /**
   * Plain requests are sent to https until then (milliseconds since the epoch), when the certificate ends;
   * 0: its owner does not want that, or there is no certificate.
   */
  httpsUntilMs: number
  query: QueryRule
  rules: readonly PathRule[]
  /** null: who is a crawler is the same here as everywhere. */
  crawlers: OwnCrawlers | null
  /** Kinds of crawlers that get the origin. */
  categories: DomainSettings['categories']
  lifetimes: Lifetimes
}

export function edgeDomain(row: DomainRow): EdgeDomain {
  const settings = readDomainSettings(row.settings)
  return {
    id: row.id as DomainId,
    account: row.account_id,
    name: row.custom_domain as DomainName,
    origin: readOrigin(row.origin_url, row.account_id),
    isActive: row.is_active,
    httpsUntilMs: settings.https_redirect ? (row.certificate_ends_at?.getTime() ?? 0) : 0,
    query: settings.query,
    rules: settings.rules,
    crawlers: ownCrawlers(settings.crawlers),
    categories: settings.categories,
    lifetimes: {
      freshMs: settings.fresh_seconds * 1_000,
      staleMs: settings.stale_seconds * 1_000,
      keepMs: settings.keep_seconds * 1_000,
    },
  }
}

type DomainsOptions = {
  db: Queryable
  /** Whether notifications arrive at this moment. */
  connected(): boolean
}

/**
 * Domains by the `Host` of a request: from memory, also that there is none, else
 * from PostgreSQL. Follows the same rule as pages: a notification wins over a
 * read of the same moment, and what may be untrue answers only when PostgreSQL cannot.
 */
export function createDomains({ db, connected }: DomainsOptions) {
  const known = new RecentMap<EdgeDomain>({ limit: 100_000 })
  // Apart, so that a scan of invented names drives out no domain.
  const unknown = new RecentMap<true>({ limit: 10_000 })
  const trust = new CacheTrust(connected, clear)

  function find(hostHeader: string): EdgeDomain | null | Promise<EdgeDomain | null> {
    const domain = inMemory(hostHeader)
    if (domain !== undefined) return domain
    const name = nameOf(hostHeader)
    if (trust.holds && unknown.get(name) !== undefined) return null
    // A name of the domain system has at most 253 characters.
    return name === '' || name.length > 253 ? null : load(name)
  }

  /** Without asking for it: as `find`, or undefined. */
  function inMemory(hostHeader: string): EdgeDomain | undefined {
    // Most say it as it is.
    return trust.holds ? (known.get(hostHeader) ?? known.get(nameOf(hostHeader))) : undefined
  }

  async function load(name: string): Promise<EdgeDomain | null> {
    const began = trust.begin()
    let row: DomainRow | null
    try {
      row = await domainByHost(db, name)
    } catch (error) {
      const held = known.get(name)
      if (held === undefined) throw error
      return held
    }
    const domain = row === null ? null : edgeDomain(row)
    if (trust.admits(began)) {
      if (domain === null) unknown.set(name, true)
      else known.set(name, domain)
    }
    return domain
  }

  function clear(): void {
    trust.notified()
    known.clear()
    unknown.clear()
  }

  function invalidate(what: Invalidation): void {
    if (what.kind === 'everything') clear()
    else if (what.kind === 'host') {
      trust.notified()
      known.delete(what.host)
      unknown.delete(what.host)
    } else if (what.kind === 'account') {
      trust.notified()
      for (const [name, domain] of known.entries()) if (domain.account === what.account) known.delete(name)
    }
  }

  const held: Held = {
    invalidate,
    lost: () => trust.lost(),
  }
  return { find, inMemory, held }
}

export type Domains = ReturnType<typeof createDomains>

/** Lower case, without port and without the dot at the end of a full name. */
function nameOf(hostHeader: string): string {
  return hostHeader.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
