import { type DomainId, type JobId, type PagePath, parseJobId } from '@prepaint/contract/ids.ts'
import { parseVisited } from '@prepaint/pages/store/visited-notices.ts'
import { type Invalidation, parseInvalidations } from '@prepaint/runtime/invalidation.ts'

export type Gathered = {
  jobs: Set<JobId>
  /** The changed path of each domain, or null if several changed. */
  pages: Map<DomainId, PagePath | null>
  hosts: Set<string>
  accounts: Set<number>
  warms: Set<DomainId>
  visited: Set<DomainId>
  /** Payloads as they came from `record_incident` (packages/service/src/notifications/functions.sql). */
  incidents: Set<string>
  jobsEnded: number
  /** There was too much, or something that this version does not understand. */
  overflown: boolean
}

/** Domains with visits are few bytes each, so more of them are kept. */
const VISITED_LIMIT = 100_000

/** Collects what notifications tell until it is taken. Keeps at most `most` items while the database is slow. */
export class Gathering {
  readonly #most: number
  #gathered = nothing()

  constructor(most = 2_000) {
    this.#most = most
  }

  get isEmpty(): boolean {
    const { jobsEnded, overflown, ...sets } = this.#gathered
    return !overflown && jobsEnded === 0 && Object.values(sets).every(({ size }) => size === 0)
  }

  /** The payload has ids of jobs, separated by commas. */
  addJobs(payload: string): void {
    for (const each of payload.split(',')) {
      this.#gathered.jobsEnded++
      const id = parseJobId(each)
      if (id !== null && this.#takeRoom()) this.#gathered.jobs.add(id)
    }
  }

  addInvalidation(payload: string): void {
    for (const what of parseInvalidations(payload)) this.#add(what)
  }

  #add(what: Invalidation): void {
    const { pages, hosts, accounts } = this.#gathered
    switch (what.kind) {
      case 'page': {
        const known = pages.get(what.domain)
        if (known === undefined && this.#takeRoom()) pages.set(what.domain, what.page.path)
        else if (known !== what.page.path) pages.set(what.domain, null)
        return
      }
      case 'prefix':
      case 'domain':
        if (this.#takeRoom()) pages.set(what.domain, null)
        return
      case 'host':
        if (this.#takeRoom()) hosts.add(what.host)
        return
      case 'account':
        if (this.#takeRoom()) accounts.add(what.account)
        return
      case 'everything':
        this.#gathered.overflown = true
    }
  }

  addWarm(payload: string): void {
    const domain = Number(payload)
    if (Number.isInteger(domain) && this.#takeRoom()) this.#gathered.warms.add(domain as DomainId)
  }

  addVisited(payload: string): void {
    const { visited } = this.#gathered
    for (const domain of parseVisited(payload) ?? []) {
      // Beyond the limit, clients see visits at their next request.
      if (visited.size < VISITED_LIMIT) visited.add(domain)
    }
  }

  addIncident(payload: string): void {
    if (this.#takeRoom()) this.#gathered.incidents.add(payload)
  }

  /** Returns everything and begins anew. */
  take(): Gathered {
    const taken = this.#gathered
    this.#gathered = nothing()
    return taken
  }

  /** Returns whether one more item may be added. If not, the gathered is marked as overflown. */
  #takeRoom(): boolean {
    const { incidents, jobs, pages, hosts, accounts } = this.#gathered
    const size = incidents.size + jobs.size + pages.size + hosts.size + accounts.size
    if (size >= this.#most) this.#gathered.overflown = true
    return !this.#gathered.overflown
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
