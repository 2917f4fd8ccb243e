/** A further process of a node's edge, started by `EdgeProcesses`. It ends with the node. */
import { enableCompileCache, flushCompileCache } from 'node:module'
import { createLog } from '@prepaint/runtime/log.ts'
import { readableDir } from '@prepaint/runtime/system-user.ts'
import { loadConfig } from '../settings/config.ts'
import type { FromEdgeProcess, ToEdgeProcess } from './edge-processes.ts'
import type { RunningEdge } from './running-edge.ts'

/** After the node has gone without a word. */
const ORPHAN_DRAIN_MS = 2_000

const settings = loadConfig()
const log = createLog(settings.logLevel)
let running: Promise<RunningEdge> | null = null

// Ctrl-C and service managers signal all processes; the node says when to end.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => void end(ORPHAN_DRAIN_MS))
process.on('message', (message: ToEdgeProcess) => void obey(message))

async function obey(message: ToEdgeProcess): Promise<void> {
  if (message.kind === 'start') {
    running = start(message.task)
    await running.then(
      () => tell({ kind: 'listening' }),
      (error: unknown) => {
        log.error({ err: error }, 'an edge process did not start')
        process.exit(1)
      },
    )
    flushCompileCache()
    return
  }
  if (message.kind === 'close') return end(message.withinMs)
  const edge = await running
  switch (message.kind) {
    case 'ticket-keys':
      edge?.useTicketKeys(Buffer.from(message.keys, 'base64'))
      return
    case 'catch-up':
      await edge?.caughtUp()
      tell({ kind: 'answer', question: message.question, metrics: [] })
      return
    case 'report': {
      const metrics = (await edge?.metrics()) ?? []
      tell({ kind: 'answer', question: message.question, metrics })
    }
  }
}

async function start(task: Parameters<typeof RunningEdge.start>[1]): Promise<RunningEdge> {
  try {
    enableCompileCache(readableDir(settings.dataDir, 'compiled', null))
  } catch {
    // It only starts more slowly.
  }
  const { RunningEdge: Loaded } = await import('./running-edge.ts')
  return Loaded.start(settings, task, log, tell)
}

async function end(withinMs: number): Promise<never> {
  const edge = await running?.catch(() => null)
  await edge?.close(withinMs)
  process.exit(0)
}

function tell(message: FromEdgeProcess): void {
  // The node may have gone: `disconnect` follows.
  if (process.connected) process.send?.(message, () => {})
}
