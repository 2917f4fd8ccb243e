import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { createContext, use, useEffect, useState } from 'react'
import { ApiError } from './api-error.ts'
import { request } from './request.ts'
import type { Me } from './types.ts'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Me | null> => {
    try {
      return (await request<{ account: Me }>('GET', '/api/session', { signal })).account
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** Call after signing in or out: drops all data of the previous account. */
export function switchAccount(queries: QueryClient, me: Me | null): void {
  queries.clear()
  queries.setQueryData(sessionQuery.queryKey, me)
}

export const SignedIn = createContext<Me | null>(null)

export function useMe(): Me {
  const me = use(SignedIn)
  if (me === null) throw new Error('useMe is used outside of SignedIn')
  return me
}

/** Returns the token of a link in an e-mail. It is a secret, so it is removed from the address bar and the history. */
export function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1))
  useEffect(() => {
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname)
  }, [])
  return token
}
