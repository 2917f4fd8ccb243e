import { setTimeout as sleep } from 'node:timers/promises'
import type { JobId } from '@prepaint/contract/ids.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { readStatement } from '../statement.ts'

type LeaseOptions = {
  /** The name of this run of the node, never reused. */
  node: string
  leaseMs: number
  renewMs: number
}

export type Lease = {
  /** False while other nodes may take over this node's jobs: do not claim new ones. */
  readonly held: boolean
  close(): Promise<void>
}

type LeasedJob = { job: { id: JobId; attempts: number }; abort: AbortController }

const BACK_OFF_FIRST_MS = 50
const BACK_OFF_MAX_MS = 2_000

/**
 * Uses its own connection, which holds an advisory lock on the node's name. If the process dies, PostgreSQL frees the
 * lock and the reaper sees it. If the node hangs, its leases expire by the database's clock. Aborts a render whose
 * job was taken away, at the next renewal. Rejects if the first connection fails.
 */
export async function startLease(
  connection: pg.ClientConfig,
  { node, leaseMs, renewMs }: LeaseOptions,
  runs: Iterable<LeasedJob>,
  log: Log,
): Promise<Lease> {
  const renew = readStatement('renew')
  const closing = new AbortController()
  let client: pg.Client | null = null

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({ ...connection, query_timeout: Math.min(leaseMs, 10_000) })
    fresh.on('error', () => {})
    try {
      await fresh.connect()
      await fresh.query(`select pg_advisory_lock(hashtextextended('prepaint node ' || $1, 0))`, [node])
      return fresh
    } catch (error) {
      discard(fresh)
      throw error
    }
  }

  /** Returns when the connection fails or `close` was called. */
  async function renewOn(current: pg.Client): Promise<void> {
    const lost = new AbortController()
    const end = () => lost.abort()
    current.once('end', end)
    closing.signal.addEventListener('abort', end)
    while (!lost.signal.aborted) {
      try {
        const before = [...runs]
        const { rows } = await current.query<LeasedJob['job']>({ ...renew, values: [node, leaseMs] })
        const ours = new Set(rows.map(({ id, attempts }) => `${id} ${attempts}`))
        for (const { job, abort } of before) if (!ours.has(`${job.id} ${job.attempts}`)) abort.abort()
      } catch (error) {
        log.warn({ err: (error as Error).message }, 'the leases of running jobs could not be renewed')
        break
      }
      await sleep(renewMs, undefined, { signal: lost.signal, ref: false }).catch(() => {})
    }
    closing.signal.removeEventListener('abort', end)
  }

  async function keep(first: pg.Client): Promise<void> {
    client = first
    for (let backOffMs = BACK_OFF_FIRST_MS; ; ) {
      if (client !== null) {
        backOffMs = BACK_OFF_FIRST_MS
        await renewOn(client)
        discard(client)
        client = null
      }
      await sleep(backOffMs, undefined, { signal: closing.signal, ref: false }).catch(() => {})
      if (closing.signal.aborted) return
      backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)
      client = await connect().catch((error: Error) => {
        log.debug({ err: error.message }, 'the lease connection is not back yet')
        return null
      })
    }
  }

  const kept = keep(await connect())
  return {
    get held() {
      return client !== null
    },
    async close() {
      closing.abort()
      await kept
    },
  }
}

function discard(client: pg.Client): void {
  client.connection.stream.destroy()
}
