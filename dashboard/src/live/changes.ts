import type { Query, QueryClient } from '@tanstack/react-query'

import type { Domain, LiveEvent } from '../api/types.ts'

export type Outdated =
  | { kind: 'all' }
  | { kind: 'pages'; domain: string }
  | { kind: 'warm'; domain: string }
  | { kind: 'visits'; domain: string }
  | { kind: 'domain'; domain: string }
  | { kind: 'incident' }
  | { kind: 'account' }
  | { kind: 'fleet' }

export function outdatedBy(event: LiveEvent): Outdated | null {
  switch (event.event) {
    case 'render':
    case 'pages':
      return { kind: 'pages', domain: event.data.domain }
    case 'warm':
    case 'visits':
      return { kind: event.event, domain: event.data.domain }
    case 'domain':
      return { kind: 'domain', domain: event.data.domain }
    case 'incident':
      return { kind: 'incident' }
    case 'account':
      return { kind: 'account' }
    case 'fleet':
      return { kind: 'fleet' }
    case 'reread':
      return { kind: 'all' }
    default:
      return null
  }
}

const SETTLED = ['certificate', 'dns', 'tokens', 'robots', 'redirects', 'versions']
const COUNTS = ['traffic', 'traffic-paths']

export function isOutdated(outdated: Outdated, key: readonly unknown[]): boolean {
  const [first, name, part] = key
  switch (outdated.kind) {
    case 'all':
      return true
    case 'pages':
      return (
        first === 'domains' &&
        name === outdated.domain &&
        part !== undefined &&
        ![...SETTLED, ...COUNTS, 'warm'].includes(String(part))
      )
    case 'warm':
      return first === 'domains' && name === outdated.domain && part === 'warm'
    case 'visits':
      return (
        first === 'traffic-summaries' ||
        (first === 'domains' &&
          (name === outdated.domain || name === null) &&
          COUNTS.includes(String(part))) ||
        (first === 'domains' && name === outdated.domain && part === 'pages')
      )
    case 'domain':
      return first === 'domains' && (name === undefined || name === outdated.domain)
    case 'incident':
      return first === 'incidents'
    case 'account':
      return (
        first === 'incidents' ||
        first === 'session' ||
        first === 'plan' ||
        (first === 'domains' && name === undefined)
      )
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
