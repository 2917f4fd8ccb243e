import path from 'node:path'
import pg from 'pg'
import { clearDataDir, makeDataDir } from './data-dir.ts'
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts'
import { type NodeProcess, startNodeProcess } from './node-process.ts'
import { startTestServer } from './postgres-server.ts'

export type Member = { process: NodeProcess; network: DatabaseProxy; start(): Promise<void> }

export type Fleet = Awaited<ReturnType<typeof startFleet>>

const SKEWED_CLOCK = path.join(import.meta.dirname, 'skewed-clock.ts')

/** Nodes on one PostgreSQL, each with its own process, data directory and network. */
export async function startFleet(
  nodes: readonly { settings?: Record<string, string>; clockAheadMs?: number }[],
) {
  const server = await startTestServer()
  const pool = new pg.Pool({ ...server.connection, max: 4 })
  pool.on('error', () => {})
  const dirs: string[] = []
  const members: Member[] = []
  const networks: DatabaseProxy[] = []
  /** Ends everything; returns what was left behind. */
  const close = async () => {
    const running = members.filter(({ process }) => process.running)
    const stopped = await Promise.allSettled(running.map(({ process }) => process.stop()))
    const left = (await Promise.all(dirs.map(clearDataDir))).flat()
    for (const stop of stopped) if (stop.status === 'rejected') left.push(String(stop.reason))
    for (const network of networks) network.close()
    await pool.end()
    await server.close()
    return left
  }
  try {
    dirs.push(...nodes.map(makeDataDir))
    // One after the other: starts have a time limit, and concurrent ones are slow on a small machine.
    for (const [at, { settings = {}, clockAheadMs = 0 }] of nodes.entries()) {
      const dir = dirs[at]!
      const network = await startDatabaseProxy(server.connection)
      networks.push(network)
      const all = {
        DATABASE_URL: network.url,
        PREPAINT_RENDER_SLOTS: '2',
        ...(clockAheadMs !== 0 && {
          NODE_OPTIONS: `--import=${SKEWED_CLOCK}`,
          TEST_CLOCK_AHEAD_MS: String(clockAheadMs),
        }),
        ...settings,
      }
      const member: Member = {
        network,
        process: await startNodeProcess(dir, all),
        async start() {
          member.process = await startNodeProcess(dir, all)
        },
      }
      members.push(member)
    }
    return { server, pool, members, close }
  } catch (error) {
    await close()
    throw error
  }
}
