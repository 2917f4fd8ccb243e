import { type BrowserBinary, findBrowser } from '@prepaint/engine/browser-binary'
import { type Database, GivenServer, openDatabase } from '@prepaint/postgres/database.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Config } from '../settings/config.ts'
import { warnOfSettings } from '../settings/ignored-settings.ts'
import { ClosingStack } from './closing-stack.ts'
import { checkPorts } from './listen.ts'
import type { Node } from './node.ts'
import { neededPorts } from './ports.ts'

/**
 * `say` prints a line for the person who started the node. The start ends early if `signal` is aborted. `invitesOperator`:
 * whether the node says how to create the first operator's account (default: yes).
 */
export type Start = {
  config: Config
  log: Log
  say(line: string): void
  signal: AbortSignal
  invitesOperator?: boolean
}

/** What takes long and needs little code. Their errors are those of the start. */
export type Begun = {
  /** The server of DATABASE_URL, which is not asked yet. Null if there is none, and `database` is in the private PostgreSQL. */
  server: GivenServer | null
  database: Promise<Database>
  /** The browser's program, unpacked. Null if the node does not render. */
  browser: Promise<BrowserBinary> | null
}

export const DRAIN_MS = 10_000

/**
 * Starts a node. PostgreSQL starts and Chromium is unpacked while the rest of the program is loaded, which takes as long: so this
 * file imports little. Whatever was opened is closed if a part fails to start, or if the signal is aborted.
 */
export async function startNode(start: Start): Promise<Node> {
  const { config, log, signal } = start
  warnOfSettings(config, log)
  await checkPorts(neededPorts(config))
  signal.throwIfAborted()
  const opened = new ClosingStack(systemClock, log)
  try {
    const begun = begin(start, opened)
    const { Node } = await import('./node.ts')
    return await Node.start(start, begun, opened)
  } catch (error) {
    await opened.closeAll(DRAIN_MS)
    throw error
  }
}

function begin({ config, log, say }: Start, opened: ClosingStack): Begun {
  const { databaseUrl, dataDir, roles, render } = config
  const server = databaseUrl === null ? null : new GivenServer(databaseUrl)
  const database =
    server === null
      ? openDatabase({ databaseUrl: null, dataDir, log, onLongStep: say })
      : Promise.resolve(server.open(log))
  opened.add('database', async () => {
    const begun = await database.catch(() => null)
    await begun?.close()
  })
  const browser = roles.has('render')
    ? findBrowser({ chromium: render.chromium, dataDir, onLongStep: say })
    : null
  // The node awaits both when it is loaded, and its start rejects then.
  database.catch(() => {})
  browser?.catch(() => {})
  return { server, database, browser }
}
