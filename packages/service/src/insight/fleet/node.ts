import type { BROWSER_STATES, NODE_STATES } from '@prepaint/contract/api/operator.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

type NodeState = (typeof NODE_STATES)[number]

export type BrowserState = (typeof BROWSER_STATES)[number]

export type NodeSelf = {
  id: string
  host: string
  version: string
  roles: readonly string[]
  cores: number
  /** Pages that it renders at once, 0 if it does not render. */
  slots: number
  schema: string
}

export type NodePulse = {
  /** The port of the API or /readyz. Null or missing until the node listens. */
  apiPort?: number | null
  draining: boolean
  running: number
  /** Machine load over the last minute. */
  load: number
  /** Resident bytes, including browsers and private PostgreSQL. */
  memoryBytes: number
  browser: BrowserState
  /** Missing if the node does not render. */
  browsers?: undefined | { readonly alive: number; readonly started: number }
}

export type FleetNode = {
  id: string
  host: string
  api_port: number | null
  version: string
  roles: string[]
  state: NodeState
  started_at: string
  seen_at: string
  slots: number
  running: number
  cores: number
  load: number
  memory_bytes: number
  browser: BrowserState
  /** Two while one replaces another. */
  browsers: number
  browsers_started: number
  schema: string
}

export type Fleet = {
  schema: string
  nodes: FleetNode[]
}

export const BEAT_MS = 5_000
export const DEAD_AFTER_MS = 3 * BEAT_MS
export const REMOVED_AFTER_MS = 600_000

type Row = Omit<FleetNode, 'started_at' | 'seen_at' | 'memory_bytes'> & {
  started_at: Date
  seen_at: Date
  memory_bytes: string
}

/** Lists all nodes by host, the oldest first. Nodes that died in the last ten minutes are among them. */
export async function readFleet(db: Queryable): Promise<Fleet> {
  const { rows } = await db.query<Row>(
    `select id, host, api_port, version, roles, started_at, seen_at, slots, running, cores, load, memory_bytes, browser, browsers, browsers_started,
            schema,
            case when seen_at < clock_timestamp() - $1 * interval '1 millisecond' then 'dead'
                 when draining then 'draining' else 'serving' end as state
       from node
      where seen_at >= clock_timestamp() - $2 * interval '1 millisecond'
      order by host, started_at, id`,
    [DEAD_AFTER_MS, REMOVED_AFTER_MS],
  )
  const applied = await db.query<{ name: string }>(
    'select name from schema_migration order by name collate "C" desc limit 1',
  )
  return {
    schema: applied.rows[0]?.name ?? '',
    nodes: rows.map((row) => ({
      ...row,
      started_at: row.started_at.toISOString(),
      seen_at: row.seen_at.toISOString(),
      memory_bytes: Number(row.memory_bytes),
    })),
  }
}
