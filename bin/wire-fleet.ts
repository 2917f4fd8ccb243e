import { randomUUID } from 'node:crypto'
import { availableParallelism, hostname, loadavg } from 'node:os'

import type pg from 'pg'

import type { Config } from '../src/config.ts'
import { lastMigration } from '../src/db/migrate.ts'
import { type Registration, startRegistration } from '../src/fleet/registration.ts'
import type { Log } from '../src/log.ts'
import { treeMemory } from '../src/metrics/tree-memory.ts'

/** The name of this run of the node. Pids come again after a restart, in containers at once; the name of a lease must not. */
export function nodeId(): string {
  return `${hostname()}:${process.pid}:${randomUUID()}`
}

/** Every so many beats all processes are looked through for the memory of ours: that takes some milliseconds. */
const BEATS_A_LOOK = 6

/** Puts this node into the list of nodes. */
export function wireRegistration(deps: {
  config: Config
  pool: pg.Pool
  log: Log
  id: string
  isDraining(): boolean
  /** Null where this node does not render. */
  worker: { readonly running: number } | null
  renderer: { readonly healthy: boolean; readonly browsers: { alive: number; started: number } } | null
}): Promise<Registration> {
  const { config, pool, log, id, isDraining, worker, renderer } = deps
  let beats = 0
  let memoryBytes = 0
  const pulse = () => {
    if (beats++ % BEATS_A_LOOK === 0) {
      memoryBytes = Object.values(treeMemory()).reduce((sum, bytes) => sum + bytes, 0)
    }
    return {
      draining: isDraining(),
      running: worker?.running ?? 0,
      load: loadavg()[0] ?? 0,
      memoryBytes,
      browser:
        renderer === null ? ('none' as const) : renderer.healthy ? ('ok' as const) : ('broken' as const),
      ...(renderer !== null && { browsers: renderer.browsers }),
    }
  }
  return startRegistration(
    { pool, log, pulse },
    {
      id,
      host: hostname(),
      version: config.version,
      roles: [...config.roles],
      cores: availableParallelism(),
      slots: config.roles.has('render') ? config.render.slots : 0,
      schema: lastMigration(),
    },
  )
}
