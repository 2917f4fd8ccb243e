import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type Program, spawnPrepaint } from './command-line.ts'

export type NodeProcess = Awaited<ReturnType<typeof startNodeProcess>>

/** A node with `PREPAINT_LOG_LEVEL=trace` writes less in a test. */
const LOG_BYTES = 4 * 1024 * 1024
/** The level of pino. */
const WARN = 40
const MOST_WARNINGS = 10_000
/** Mostly for unpacking the browser on a slow machine. */
const READY_MS = 180_000
const END_MS = 60_000

/**
 * Starts `prepaint serve` on free ports, of the checkout by default; it ends with this process. Rejects without a ready
 * line.
 */
export async function startNodeProcess(
  dataDir: string,
  settings: Record<string, string> = {},
  program?: Program,
) {
  const all: Record<string, string> = {
    PREPAINT_DATA_DIR: dataDir,
    PREPAINT_API_PORT: '0',
    PREPAINT_EDGE_PORT: '0',
    PREPAINT_EDGE_TLS_PORT: '0',
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
    ...settings,
  }
  const startedMs = performance.now()
  const child = spawnPrepaint(['serve'], all, ['ignore', 'pipe', 'pipe', 'ipc'], program)
  child.channel?.unref()
  // Not at `exit`: its last output may arrive later.
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  let said = ''
  let unfinished = ''
  const warnings: LogLine[] = []
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-LOG_BYTES)
    const lines = (unfinished + chunk).split('\n')
    unfinished = lines.pop() ?? ''
    for (const line of lines.flatMap(warningOf)) if (warnings.length < MOST_WARNINGS) warnings.push(line)
  })
  const ready = await readyLine(child).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`the node did not start; it said:\n${said}`, { cause: error })
  })

  const readyMs = performance.now() - startedMs
  child.stdout!.resume()
  // Earlier log output is read in this turn at the latest.
  await new Promise(setImmediate)

  return {
    ...ready,
    pid: child.pid!,
    settings: all,
    program,
    readyMs,
    log: () => said,
    /** All lines of level warn or above so far, of which `log` may have lost the first ones. */
    warnings: () => warnings,
    /** SIGKILL; resolves when it is gone and `log` is complete. */
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await exited
    },
    /** SIGTERM; resolves with the exit status, null after a signal. Kills it and rejects after a minute. */
    async stop(): Promise<number | null> {
      child.kill('SIGTERM')
      const { promise: late, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
        reject(new Error(`the node did not end in ${END_MS} ms; it said:\n${said}`))
      }, END_MS)
      return Promise.race([exited, late]).finally(() => clearTimeout(timer))
    },
    get running(): boolean {
      return child.exitCode === null && child.signalCode === null
    },
    /** By us; it may still be on its way out. */
    get killed(): boolean {
      return child.killed
    },
  }
}

type LogLine = { level: number; time: string; msg: string }

function warningOf(line: string): LogLine[] {
  if (!line.startsWith('{')) return []
  const parsed = JSON.parse(line) as LogLine
  return parsed.level >= WARN ? [parsed] : []
}

type ReadyEvent = { event: string; api: string; edge: string; edge_tls: string; database?: string }

async function readyLine(child: ChildProcess) {
  const lines = createInterface({ input: child.stdout!, signal: AbortSignal.timeout(READY_MS) })
  for await (const line of lines) {
    const event = JSON.parse(line) as ReadyEvent
    if (event.event !== 'ready') continue
    // It names the database only if the node has started without it.
    return { api: event.api, edge: event.edge, edgeTls: event.edge_tls, database: event.database ?? 'there' }
  }
  throw new Error(`no ready line in ${READY_MS} ms; exit status ${child.exitCode}`)
}
