import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

import { sessionQuery, useSession } from '../api/session.ts'
import { Changes } from './changes.ts'
import classes from './live-figures.module.css'
import { type LiveState, LiveStream, setLiveState, useLiveState } from './stream.ts'

/** A hidden window disconnects after this time: browsers limit connections per server. */
const HIDDEN_MS = 60_000

/** Keeps the figures on all screens current, by events or, without them, by polling. */
export function useLiveFigures(): void {
  const queries = useQueryClient()
  const { account, person } = useSession()
  const isOperator = person.is_operator
  const id = account?.id
  useEffect(() => {
    const changes = new Changes(queries)
    if (id === undefined && !isOperator) return
    const path = isOperator ? '/api/operator/events' : '/api/events'
    const url = id === undefined ? path : `${path}?account=${id}`
    const stream = new LiveStream(() => new EventSource(url), {
      onEvent: (event) => changes.take(event),
      onEnded() {
        void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
      },
      onState(next) {
        setLiveState(next)
        // Queries start polling with their next response.
        if (next === 'lost') void queries.invalidateQueries({ type: 'active' })
      },
    })
    let hiding: ReturnType<typeof setTimeout> | undefined
    const followVisibility = () => {
      clearTimeout(hiding)
      if (document.visibilityState === 'visible') stream.open()
      else hiding = setTimeout(() => stream.close(), HIDDEN_MS)
    }
    followVisibility()
    document.addEventListener('visibilitychange', followVisibility)
    return () => {
      document.removeEventListener('visibilitychange', followVisibility)
      clearTimeout(hiding)
      stream.close()
      changes.close()
    }
  }, [queries, isOperator, id])
}

const STATE_WORDS: Record<LiveState, string> = {
  off: '',
  connecting: '',
  live: 'Live',
  lost: 'Connection lost. Trying again…',
}

/** Says whether the figures on the screen follow events. */
export function LiveMark() {
  const state = useLiveState()
  return (
    <p className={classes.mark} data-state={state} role="status">
      {STATE_WORDS[state]}
    </p>
  )
}
