import type { Query, QueryClient } from '@tanstack/react-query'

import type { Domain, LiveEvent } from '../api/types.ts'

/** The kind of data that an event makes outdated. */
const KINDS = {
  render: 'pages',
  pages: 'pages',
  warm: 'warm',
  visits: 'visits',
  domain: 'domain',
  incident: 'incident',
  account: 'account',
  fleet: 'fleet',
  reread: 'all',
} as const satisfies Partial<Record<LiveEvent['event'], string>>

/** `domain` is null where the data is of the account or the fleet. */
export type Outdated = { kind: (typeof KINDS)[keyof typeof KINDS]; domain: string | null }

/** Returns what the event makes outdated, or null if it is nothing. */
export function outdatedBy({ event, data }: LiveEvent): Outdated | null {
  if (!(event in KINDS)) return null
  return { kind: KINDS[event as keyof typeof KINDS], domain: 'domain' in data ? data.domain : null }
}

/** Data of a domain that renders and page changes leave as it is. */
const SETTLED = ['certificate', 'dns', 'proof', 'tokens', 'robots', 'redirects', 'versions']
const COUNTS = ['traffic', 'traffic-paths']
/** They take long to read, and are polled. */
const POLLED = ['page-counts', 'traffic-before']
const OF_ACCOUNT = ['incidents', 'integrations', 'session', 'plan', 'tags', 'templates']

export function isOutdated({ kind, domain }: Outdated, [first, name, part]: readonly unknown[]): boolean {
  const isList = first === 'domains' && name === undefined
  const isOfDomain = first === 'domains' && name === domain
  const isPortfolio = first === 'portfolio'
  switch (kind) {
    case 'all':
      return true
    case 'pages':
      return (
        isOfDomain && part !== undefined && ![...SETTLED, ...COUNTS, ...POLLED, 'warm'].includes(String(part))
      )
    case 'warm':
      return isOfDomain && part === 'warm'
    case 'visits': {
      const isCount = first === 'domains' && COUNTS.includes(String(part))
      return (
        first === 'traffic-summaries' ||
        first === 'integrations' ||
        isPortfolio ||
        (isCount && (isOfDomain || name === null)) ||
        (isOfDomain && part === 'pages')
      )
    }
    case 'domain':
      return isList || isPortfolio || isOfDomain || first === 'integrations'
    case 'incident':
      return isPortfolio || first === 'incidents'
    case 'account':
      return isList || isPortfolio || OF_ACCOUNT.includes(String(first))
    case 'fleet':
      return first === 'operator'
  }
}

/** An infinite list with more pieces is not refetched automatically. */
const PIECES_REREAD = 2

export function isLong({ state }: { state: { data?: unknown } }): boolean {
  const { data } = state
  return (
    typeof data === 'object' &&
    data !== null &&
    'pageParams' in data &&
    Array.isArray(data.pageParams) &&
    data.pageParams.length > PIECES_REREAD
  )
}

const PAUSE_MS = 2_000

type Waiting = { timer: ReturnType<typeof setTimeout>; isAskedAgain: boolean }

/** Refetches visible data that events invalidate, at most every two seconds. Shows figures in events at once. */
export class Changes {
  readonly #queries: QueryClient
  /** What was read within the last two seconds, by its name. */
  readonly #waiting = new Map<string, Waiting>()

  constructor(queries: QueryClient) {
    this.#queries = queries
  }

  take(event: LiveEvent): void {
    if (event.event === 'quota') {
      this.#showQuota(event.data)
      return
    }
    const outdated = outdatedBy(event)
    if (outdated !== null) this.#rereadSoon(outdated)
  }

  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
  }

  #showQuota({ domain: name, ...figures }: Extract<LiveEvent, { event: 'quota' }>['data']): void {
    const withFigures = <Shown extends Domain>(domain: Shown): Shown =>
      domain.custom_domain === name ? { ...domain, ...figures } : domain
    this.#queries.setQueryData<Domain[]>(['domains'], (domains) => domains?.map(withFigures))
    this.#queries.setQueryData<Domain>(['domains', name], (domain) => domain && withFigures(domain))
  }

  #rereadSoon(outdated: Outdated): void {
    const name = JSON.stringify(outdated)
    const known = this.#waiting.get(name)
    if (known !== undefined) {
      known.isAskedAgain = true
      return
    }
    this.#reread(outdated)
    const waiting: Waiting = {
      timer: setTimeout(() => this.#endPause(outdated, name), PAUSE_MS),
      isAskedAgain: false,
    }
    this.#waiting.set(name, waiting)
  }

  #endPause(outdated: Outdated, name: string): void {
    const isAskedAgain = this.#waiting.get(name)?.isAskedAgain
    this.#waiting.delete(name)
    if (isAskedAgain) this.#rereadSoon(outdated)
  }

  #reread(outdated: Outdated): void {
    const concerns = ({ queryKey }: Query) => isOutdated(outdated, queryKey)
    void this.#queries.invalidateQueries({ predicate: concerns, refetchType: 'none' })
    // A long list would take hundreds of requests; the screen offers a reload instead.
    void this.#queries.refetchQueries({
      type: 'active',
      predicate: (query) => concerns(query) && !isLong(query),
    })
  }
}
