import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

import { sessionQuery, useMe } from '../api/session.ts'
import { createChanges } from './changes.ts'
import classes from './live-figures.module.css'
import { createLiveStream, setLiveState, useLiveState } from './stream.ts'

/** A hidden window disconnects after this time: browsers limit connections per server. */
const HIDDEN_MS = 60_000

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
        // Queries start polling with their next response.
        if (next === 'lost') void queries.invalidateQueries({ type: 'active' })
      },
    })
    let hiding: ReturnType<typeof setTimeout> | undefined
    const followVisibility = () => {
      clearTimeout(hiding)
      if (document.visibilityState === 'visible') stream.open()
      else hiding = setTimeout(stream.close, HIDDEN_MS)
    }
    followVisibility()
    document.addEventListener('visibilitychange', followVisibility)
    return () => {
      document.removeEventListener('visibilitychange', followVisibility)
      clearTimeout(hiding)
      stream.close()
      changes.close()
    }
  }, [queries, role])
}

export function LiveMark() {
  const state = useLiveState()
  return (
    <p className={classes.mark} data-state={state} role="status">
      {state === 'lost' ? 'Not live: updated every 15 s' : state === 'live' ? 'Live' : ''}
    </p>
  )
}
