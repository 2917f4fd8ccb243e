import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { programEnvironment } from './command-line.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')

export type NodeProcess = {
  api: string
  edge: string
  edgeTls: string
  pid: number
  settings: Record<string, string>
  readyMs: number
  /** The last 64 KiB of its log. */
  log(): string
  /** SIGKILL; resolves when it is gone and `log` is complete. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit status, null after a signal. Kills it and rejects after a minute. */
  stop(): Promise<number | null>
  readonly running: boolean
}

const LOG_BYTES = 64 * 1024
/** Mostly for unpacking the browser on a slow machine. */
const READY_MS = 180_000
const END_MS = 60_000

/** Starts `bin/prepaint.ts serve` on free ports; it ends with this process. Rejects without a ready line. */
export async function startNodeProcess(
  dataDir: string,
  settings: Record<string, string> = {},
): Promise<NodeProcess> {
  const all = {
    PREPAINT_DATA_DIR: dataDir,
    PREPAINT_API_PORT: '0',
    PREPAINT_EDGE_PORT: '0',
    PREPAINT_EDGE_TLS_PORT: '0',
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
    ...settings,
  }
  const startedMs = performance.now()
  const main = path.join(ROOT, 'bin', 'prepaint.ts')
  const child = spawn(process.execPath, ['--max-semi-space-size=4', main, 'serve'], {
    cwd: ROOT,
    env: { ...programEnvironment(), ...all },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.channel?.unref()
  // Not at `exit`: its last output may arrive later.
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-LOG_BYTES)
  })
  const ready = await readyLine(child, exited).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`the node did not start; it said:\n${said}`, { cause: error })
  })

  const readyMs = performance.now() - startedMs
  // Earlier log output is read in this turn at the latest.
  await new Promise(setImmediate)

  return {
    ...ready,
    pid: child.pid!,
    settings: all,
    readyMs,
    log: () => said,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      const { promise: late, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
        reject(new Error(`the node did not end in ${END_MS} ms; it said:\n${said}`))
      }, END_MS)
      return Promise.race([exited, late]).finally(() => clearTimeout(timer))
    },
    get running() {
      return child.exitCode === null && child.signalCode === null
    },
  }
}

type Addresses = Pick<NodeProcess, 'api' | 'edge' | 'edgeTls'>

async function readyLine(child: ChildProcess, exited: Promise<number | null>): Promise<Addresses> {
  const { promise, resolve, reject } = Promise.withResolvers<Addresses>()
  const timer = setTimeout(() => reject(new Error(`no ready line in ${READY_MS} ms`)), READY_MS)
  const lines = createInterface({ input: child.stdout! })
  lines.on('line', (line) => {
    const event = JSON.parse(line) as { event: string; api: string; edge: string; edge_tls: string }
    if (event.event === 'ready') resolve({ api: event.api, edge: event.edge, edgeTls: event.edge_tls })
  })
  child.once('error', reject)
  void exited.then((code) => reject(new Error(`it ended with status ${code}`)))
  return promise.finally(() => clearTimeout(timer))
}
