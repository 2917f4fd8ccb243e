import type { Log } from '../log.ts'
import type { PageCache } from '../pages/page-cache.ts'
import type { Served } from './served.ts'
import type { PageTarget } from './target.ts'

export type FindStoredDeps = { log: Log; pages: Pick<PageCache<Served>, 'find'> }

/** What is stored for a target: without a promise when it is in memory. Never rejects. */
export function createFindStored({ log, pages }: FindStoredDeps) {
  function unreadable(error: Error): 'unreadable' {
    log.error({ err: error }, 'the page store could not be asked')
    return 'unreadable'
  }

  return (target: PageTarget): Served | Promise<Served | null | 'unreadable'> => {
    const read = pages.find(target.key)
    return read instanceof Promise ? read.catch(unreadable) : read
  }
}
