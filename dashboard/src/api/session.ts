import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { createContext, use } from 'react'
import { forgetUses } from '../find/recent.ts'
import { ApiError } from './api-error.ts'
import { request } from './request.ts'
import { accountOfTab } from './tab-account.ts'
import type { Me, SignedInView } from './types.ts'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<SignedInView | null> => {
    try {
      return await readSession(signal)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      forgetUses()
      return null
    }
  },
  staleTime: 60_000,
})

async function readSession(signal: AbortSignal): Promise<SignedInView> {
  try {
    return enter(await request<SignedInView>('GET', '/api/session', { signal }))
  } catch (error) {
    const isClosed = error instanceof ApiError && [403, 404].includes(error.status)
    if (!isClosed || accountOfTab.get() === null) throw error
    // The account that this tab showed is suspended (403), or the person has left it (404).
    accountOfTab.set(null)
    return enter(await request<SignedInView>('GET', '/api/session', { signal }))
  }
}

/** From now on the requests of this tab are about the account, whichever other tabs choose. */
function enter(session: SignedInView): SignedInView {
  accountOfTab.set(session.account?.id ?? null)
  return session
}

/** Call after signing in or out, or choosing an account: drops all data of the previous account. */
export function switchAccount(queries: QueryClient, session: SignedInView | null): void {
  if (session === null) {
    accountOfTab.set(null)
    forgetUses()
  } else enter(session)
  const { queryKey } = sessionQuery
  // A request that is under way would bring the session of before. Its observers stay, and hear of the new one.
  void queries.cancelQueries({ queryKey }, { revert: false, silent: true })
  queries.setQueryData(queryKey, session)
  queries.removeQueries({ predicate: (query) => query.queryKey[0] !== queryKey[0] })
}

export const SignedIn = createContext<SignedInView | null>(null)

/** Who is signed in, and in which account; an operator may be in none. */
export function useSession(): SignedInView {
  const session = use(SignedIn)
  if (session === null) throw new Error('useSession is used outside of SignedIn')
  return session
}

/** The account, and the person as its member. Screens of an account are shown only if there is one. */
export function useMe(): Me {
  const { account } = useSession()
  if (account === null) throw new Error('useMe is used outside of an account')
  return account
}
