import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { sharedQuery } from '../../api/queries.ts'
import { Changes } from '../../live/changes.ts'
import { FetchedEvents } from '../../live/fetched-events.ts'
import { LiveStream, setLiveState } from '../../live/stream.ts'

/** Keeps what a share link shows current. When the link ends, the screen says so. */
export function useSharedEvents(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const changes = new Changes(queries)
    const stream = new LiveStream(() => new FetchedEvents('/api/events'), {
      onEvent: (event) => changes.take(event),
      onEnded() {
        void queries.invalidateQueries({ queryKey: sharedQuery.queryKey })
      },
      onState: setLiveState,
    })
    stream.open()
    return () => {
      stream.close()
      changes.close()
    }
  }, [queries])
}
