import type { DomainId } from '../../ids.ts'
import type { Held, Invalidation } from '../../store/invalidation.ts'

/** One fetch of a sitemap, from before the origin is asked. */
export type SitemapFetch = {
  readonly domain: DomainId
  /** A purge came since it began: it is for whoever waits for it, and for nobody after. */
  isPurged: boolean
}

/**
 * How long a purge that was under way when a sitemap was stored may take to be heard of. What was stored in that time
 * before is deleted again, at worst once too often: it is fetched anew.
 */
const HEARD_OF_WITHIN_MS = 10_000

/** Sees to it that no fetch which began before a purge leaves anything behind it. */
export function createSitemapFence() {
  const known = new Map<SitemapFetch, { undo: (() => void) | null }>()

  function purged(isMeant: (fetch: SitemapFetch) => boolean): void {
    for (const [fetch, { undo }] of known) {
      if (!isMeant(fetch)) continue
      fetch.isPurged = true
      if (undo === null) continue
      known.delete(fetch)
      undo()
    }
  }

  const held: Held = {
    invalidate: (what) => purged(({ domain }) => isPurgeOf(what, domain)),
    lost: () => purged(() => true),
  }
  return {
    held,
    begin(domain: DomainId): SitemapFetch {
      const fetch = { domain, isPurged: false }
      known.set(fetch, { undo: null })
      return fetch
    },
    /** It came to nothing, or is not stored. */
    drop: (fetch: SitemapFetch) => void known.delete(fetch),
    /** It is stored; `undo` deletes it again, now or when a purge is heard of. */
    stored(fetch: SitemapFetch, undo: () => void): void {
      if (fetch.isPurged) {
        known.delete(fetch)
        return void undo()
      }
      known.set(fetch, { undo })
      setTimeout(() => known.delete(fetch), HEARD_OF_WITHIN_MS).unref()
    },
  }
}

/** Any purge takes all sitemaps of its domain. */
function isPurgeOf(what: Invalidation, domain: DomainId): boolean {
  if (what.kind === 'everything') return true
  if (!('domain' in what) || what.domain !== domain) return false
  return what.kind !== 'page' || what.purged
}
