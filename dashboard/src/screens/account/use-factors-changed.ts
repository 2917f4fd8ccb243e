import { useQueryClient } from '@tanstack/react-query'
import { secondFactorQuery, sessionsQuery } from '../../api/queries.ts'

/** Returns what to call when the person's second factors have changed: other sessions may have ended by that. */
export function useFactorsChanged(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    for (const queryKey of [secondFactorQuery.queryKey, sessionsQuery.queryKey, ['session']]) {
      await queries.invalidateQueries({ queryKey })
    }
  }
}
