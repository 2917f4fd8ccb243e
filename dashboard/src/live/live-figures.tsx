import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { useMe } from '../api/session.ts'
import { createChanges } from './changes.ts'
import { setLiveState } from './state.ts'
import { createLiveStream } from './stream.ts'

/** Whoever looks elsewhere for so long needs no figures; and a browser has few connections to one server. */
const HIDDEN_MS = 60_000

/** Follows the events of whoever is signed in while the page is looked at. */
export function useLiveFigures(): void {
  const queries = useQueryClient()
  const { role } = useMe()
  useEffect(() => {
    const changes = createChanges(queries)
    const stream = createLiveStream({
      connect: () => new EventSource(role === 'operator' ? '/api/operator/events' : '/api/events'),
      take: changes.take,
      onEnded: () => void queries.invalidateQueries({ queryKey: sessionQuery.queryKey }),
      onState: (next) => {
        setLiveState(next)
        // From here on they ask, or are told: each begins with its next answer.
        if (next === 'lost') void queries.invalidateQueries({ type: 'active' })
      },
    })
    let hiding: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      clearTimeout(hiding)
      if (document.visibilityState === 'visible') stream.open()
      else hiding = setTimeout(stream.close, HIDDEN_MS)
    }
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      clearTimeout(hiding)
      stream.close()
      changes.close()
    }
  }, [queries, role])
}
