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

/** `domain`: null where the data is of the account or the fleet. */
export type Outdated = { kind: (typeof KINDS)[keyof typeof KINDS]; domain: string | null }

/** null: nothing. */
export function outdatedBy({ event, data }: LiveEvent): Outdated | null {
  if (!(event in KINDS)) return null
  return { kind: KINDS[event as keyof typeof KINDS], domain: 'domain' in data ? data.domain : null }
}

const SETTLED = ['certificate', 'dns', 'tokens', 'robots', 'redirects', 'versions']
const COUNTS = ['traffic', 'traffic-paths']

export function isOutdated({ kind, domain }: Outdated, [first, name, part]: readonly unknown[]): boolean {
  const isList = first === 'domains' && name === undefined
  const isOfDomain = first === 'domains' && name === domain
  switch (kind) {
    case 'all':
      return true
    case 'pages':
      return isOfDomain && part !== undefined && ![...SETTLED, ...COUNTS, 'warm'].includes(String(part))
    case 'warm':
      return isOfDomain && part === 'warm'
    case 'visits': {
      const isCount = first === 'domains' && COUNTS.includes(String(part))
      return (
        first === 'traffic-summaries' ||
        (isCount && (isOfDomain || name === null)) ||
        (isOfDomain && part === 'pages')
      )
    }
    case 'domain':
      return isList || isOfDomain
    case 'incident':
      return first === 'incidents'
    case 'account':
      return isList || ['incidents', 'session', 'plan'].includes(String(first))
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

/** Refetches visible data that events invalidate, at most every two seconds. Shows figures in events at once. */
export function createChanges(queries: QueryClient): { take(event: LiveEvent): void; close(): void } {
  const waiting = new Map<string, { timer: ReturnType<typeof setTimeout>; again: boolean }>()

  function reread(outdated: Outdated): void {
    const concerns = ({ queryKey }: Query) => isOutdated(outdated, queryKey)
    void queries.invalidateQueries({ predicate: concerns, refetchType: 'none' })
    // A long list would take hundreds of requests; the screen offers a reload instead.
    void queries.refetchQueries({ type: 'active', predicate: (query) => concerns(query) && !isLong(query) })
  }

  function soon(outdated: Outdated): void {
    const name = JSON.stringify(outdated)
    const known = waiting.get(name)
    if (known !== undefined) {
      known.again = true
      return
    }
    reread(outdated)
    const rest = () => {
      const { again } = waiting.get(name)!
      waiting.delete(name)
      if (again) soon(outdated)
    }
    waiting.set(name, { timer: setTimeout(rest, PAUSE_MS), again: false })
  }

  return {
    take(event) {
      if (event.event === 'quota') {
        const { domain, ...figures } = event.data
        const put = <Each extends Domain>(each: Each | undefined): Each | undefined =>
          each?.custom_domain === domain ? { ...each, ...figures } : each
        queries.setQueryData<Domain[]>(['domains'], (list) => list?.map((each) => put(each) ?? each))
        queries.setQueryData<Domain>(['domains', domain], put)
        return
      }
      const outdated = outdatedBy(event)
      if (outdated !== null) soon(outdated)
    },
    close() {
      for (const { timer } of waiting.values()) clearTimeout(timer)
      waiting.clear()
    },
  }
}
