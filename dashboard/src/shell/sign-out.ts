import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { request } from '../api/request.ts'
import { switchAccount } from '../api/session.ts'
import { notifyFailed } from '../parts/notifications.tsx'
import { ROUTES } from '../route-map.ts'

/** Returns how to end the session of this browser. */
export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return async () => {
    try {
      await request('DELETE', '/api/session')
      switchAccount(queries, null)
      navigate(ROUTES.signIn)
    } catch (error) {
      notifyFailed('Sign-out failed: you are still signed in', error)
    }
  }
}
