import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { DatabaseRetry } from '../api/database-retry.ts'
import { useIsDatabaseAway } from '../api/database-state.ts'
import classes from './database-banner.module.css'

/** Stands above every screen while the database is away, and retries. The screen below stays as it is. */
export function DatabaseBanner() {
  const queries = useQueryClient()
  const isAway = useIsDatabaseAway()
  useEffect(() => {
    if (!isAway) return
    const retry = new DatabaseRetry(queries)
    return () => retry.close()
  }, [isAway, queries])
  if (!isAway) return null
  return (
    <div className={classes.banner} role="alert">
      The database is unavailable. Your sites are still being served. Retrying ...
    </div>
  )
}
