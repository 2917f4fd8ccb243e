import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'

import { ApiError, request } from '../../api/request.ts'
import type { DomainCheck } from '../../api/types.ts'

const TYPED_MS = 500

export type Finding = { good: boolean; words: string }

/** What the server says of one field of a new domain, half a second after the last key. */
export function useDomainCheck(field: 'custom_domain' | 'origin_url', typed: string, isComplete: boolean) {
  const [value] = useDebouncedValue(typed.trim(), TYPED_MS)
  const isAsked = isComplete && value !== '' && value === typed.trim()
  const check = useQuery({
    queryKey: ['domain-check', field, value],
    queryFn: ({ signal }) =>
      request<DomainCheck>('POST', '/api/domains/check', { body: { [field]: value }, signal }),
    enabled: isAsked,
    staleTime: 10_000,
    retry: false,
    refetchInterval: false,
  })
  return {
    isLooking: isComplete && typed.trim() !== '' && (!isAsked || check.isFetching),
    found:
      isAsked && check.data !== undefined
        ? findingOf(field, check.data)
        : tooMany(isAsked ? check.error : null),
  }
}

function tooMany(error: unknown): Finding | null {
  return error instanceof ApiError && error.status === 429 ? { good: true, words: error.message } : null
}

/** In words; null: that field was not asked about. */
export function findingOf(field: 'custom_domain' | 'origin_url', check: DomainCheck): Finding | null {
  if (field === 'custom_domain') {
    const { name, problem } = check.custom_domain ?? { name: null, problem: null }
    if (problem !== null) return { good: false, words: `The name ${problem}` }
    return name === null ? null : { good: true, words: `${name} is free` }
  }
  const found = check.origin_url
  if (found === null) return null
  if (found.problem !== null) return { good: false, words: `The address ${found.problem}` }
  if (found.warning !== null)
    return { good: false, words: `It can be added, but at this moment ${found.warning}` }
  return found.status !== null && found.status >= 400
    ? { good: false, words: `It can be added, but it answers with status ${found.status}` }
    : { good: true, words: `It answers with status ${found.status}` }
}
