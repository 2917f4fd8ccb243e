import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { DatabaseRetry } from '../api/database-retry.ts'
import { useIsDatabaseAway } from '../api/database-state.ts'
import classes from './database-banner.module.css'

/** Stands above every screen while the database is away, and retries. The screen below stays as it is. */
export function DatabaseBanner() {
  const queries = useQueryClient()
  const isAway = useIsDatabaseAway()
  const banner = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isAway || banner.current === null) return
    return makeRoomFor(banner.current)
  }, [isAway])
  useEffect(() => {
    if (!isAway) return
    const retry = new DatabaseRetry(queries)
    return () => retry.close()
  }, [isAway, queries])
  if (!isAway) return null
  return (
    <div className={classes.banner} role="alert" ref={banner}>
      The database is unavailable. Your sites are still being served. Retrying ...
    </div>
  )
}

/** Bars and dialogs at the top of the window stand below the banner. Returns a function that ends this. */
function makeRoomFor(banner: HTMLElement): () => void {
  const { style } = document.documentElement
  const observer = new ResizeObserver(() => {
    style.setProperty('--banner-height', `${banner.offsetHeight}px`)
  })
  observer.observe(banner)
  return () => {
    observer.disconnect()
    style.removeProperty('--banner-height')
  }
}
