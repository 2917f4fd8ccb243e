import { queryOptions } from '@tanstack/react-query'
import { domainUrl, fieldQuery } from './queries.ts'
import type { Checklist } from './types.ts'

/** Polled, because not every step has an event. */
export const checklistQuery = (domain: string) =>
  queryOptions({
    ...fieldQuery<Checklist>(['domains', domain, 'checklist'], `${domainUrl(domain)}/checklist`, 'checklist'),
    refetchInterval: ({ state }) => (isFinished(state.data) ? false : CHECKLIST_POLL_MS),
  })

const CHECKLIST_POLL_MS = 10_000

/** Whether the list of first steps is not shown any more. */
export function isFinished(checklist: Checklist | undefined): boolean {
  if (checklist === undefined) return false
  return checklist.is_hidden || checklist.items.every(({ done_at: at }) => at !== null)
}
