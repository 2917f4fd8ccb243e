import type { Queryable } from '../../db/transaction.ts'
import type { DomainId, DomainName } from '../../ids.ts'
import { type Origin, readOrigin } from '../../outbound/origin.ts'
import { RecentMap } from '../../recent-map.ts'
import { lifetimesOf, RuleBook } from '../../rules/rule-book.ts'
import type { DomainSettings } from '../../sites/domain-settings.ts'
import { readDomainSettings } from '../../sites/domain-settings.ts'
import { domainByHost } from '../../sites/domains.ts'
import type { Lifetimes } from '../../store/freshness.ts'
import { CacheTrust, type Held, type Invalidation } from '../../store/invalidation.ts'
import type { QueryRule } from '../../store/path.ts'
import { type OwnCrawlers, ownCrawlers } from '../crawlers/crawler-test.ts'

export type DomainRow = {
  id: number
  account_id: number
  custom_domain: string
  origin_url: string
  is_active: boolean
  settings: unknown
  /** End of the current certificate; null or absent: none. */
  certificate_ends_at?: Date | null
}

export type EdgeDomain = {
  id: DomainId
  account: number
  name: DomainName
  origin: Origin
  isActive: boolean
  /** Redirect to https until the certificate ends (ms since epoch); 0: disabled or no certificate. */
  httpsUntilMs: number
  query: QueryRule
  rules: RuleBook
  crawlers: OwnCrawlers | null
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
    rules: new RuleBook(settings.rules),
    crawlers: ownCrawlers(settings.crawlers),
    categories: settings.categories,
    lifetimes: lifetimesOf(settings, null),
  }
}

type DomainsOptions = {
  db: Queryable
  connected(): boolean
}

/** Caches domains, also unknown ones. Outdated entries are used only while PostgreSQL is unreachable. */
export function createDomains({ db, connected }: DomainsOptions) {
  const known = new RecentMap<EdgeDomain>({ limit: 100_000 })
  // Separate, so that a scan of random names evicts no domain.
  const unknown = new RecentMap<true>({ limit: 10_000 })
  const trust = new CacheTrust(connected, clear)

  function find(hostHeader: string): EdgeDomain | null | Promise<EdgeDomain | null> {
    const domain = inMemory(hostHeader)
    if (domain !== undefined) return domain
    const name = nameOf(hostHeader)
    if (trust.holds && unknown.get(name) !== undefined) return null
    // DNS names have at most 253 characters.
    return name === '' || name.length > 253 ? null : load(name)
  }

  /** `find` from memory only, or undefined. */
  function inMemory(hostHeader: string): EdgeDomain | undefined {
    // Most hosts are already normalized.
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

/** Lower case, without port and trailing dot. */
function nameOf(hostHeader: string): string {
  return hostHeader.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
