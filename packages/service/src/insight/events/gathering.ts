import { type DomainId, type JobId, type PagePath, parseJobId } from '@prepaint/contract/ids.ts'
import { parseVisited } from '@prepaint/pages/store/last-visits.ts'
import { parseInvalidation } from '@prepaint/runtime/invalidation.ts'

export type Gathered = {
  jobs: Set<JobId>
  /** Null: several paths of the domain. */
  pages: Map<DomainId, PagePath | null>
  hosts: Set<string>
  accounts: Set<number>
  warms: Set<DomainId>
  visited: Set<DomainId>
  /** As they came; `record_incident` of packages/service/src/notifications/functions.sql. */
  incidents: Set<string>
  jobsEnded: number
  /** Over the limit, or not understood by this version. */
  overflown: boolean
}

type Gathering = {
  job(payload: string): void
  invalidation(payload: string): void
  warm(payload: string): void
  visited(payload: string): void
  incident(payload: string): void
  take(): Gathered
  pending(): boolean
}

const VISITED_LIMIT = 100_000

/** Keeps at most `most` items while the database is slow. */
export function createGathering(most = 2_000): Gathering {
  let now = nothing()
  const room = () => {
    now.overflown ||=
      now.incidents.size + now.jobs.size + now.pages.size + now.hosts.size + now.accounts.size >= most
    return !now.overflown
  }
  return {
    job(payload) {
      now.jobsEnded++
      const id = parseJobId(payload)
      if (id !== null && room()) now.jobs.add(id)
    },
    invalidation(payload) {
      const what = parseInvalidation(payload)
      switch (what.kind) {
        case 'page': {
          const known = now.pages.get(what.domain)
          if (known === undefined && room()) now.pages.set(what.domain, what.page.path)
          else if (known !== what.page.path) now.pages.set(what.domain, null)
          return
        }
        case 'prefix':
        case 'domain':
          if (room()) now.pages.set(what.domain, null)
          return
        case 'host':
          if (room()) now.hosts.add(what.host)
          return
        case 'account':
          if (room()) now.accounts.add(what.account)
          return
        case 'everything':
          now.overflown = true
      }
    },
    warm(payload) {
      const domain = Number(payload)
      if (Number.isInteger(domain) && room()) now.warms.add(domain as DomainId)
    },
    visited(payload) {
      for (const domain of parseVisited(payload) ?? []) {
        // Beyond the limit, clients see visits at their next request.
        if (now.visited.size < VISITED_LIMIT) now.visited.add(domain)
      }
    },
    incident(payload) {
      if (room()) now.incidents.add(payload)
    },
    take() {
      const taken = now
      now = nothing()
      return taken
    },
    pending() {
      const { jobsEnded, overflown, ...sets } = now
      return overflown || jobsEnded > 0 || Object.values(sets).some(({ size }) => size > 0)
    },
  }
}

function nothing(): Gathered {
  return {
    jobs: new Set(),
    pages: new Map(),
    hosts: new Set(),
    accounts: new Set(),
    warms: new Set(),
    visited: new Set(),
    incidents: new Set(),
    jobsEnded: 0,
    overflown: false,
  }
}
