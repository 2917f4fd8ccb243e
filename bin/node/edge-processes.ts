/** The further processes of a node's edge, seen from the node: PREPAINT_EDGE_PROCESSES. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import { type ProcessMetrics, sumOfMetrics } from '@prepaint/service/insight/metrics/process-metrics.ts'
import type { Deadline } from './closing-stack.ts'

/** What an edge process is told at its start. It reads all other settings as the node does. */
export type EdgeTask = {
  /** Counts the processes of the node; 0 is the node's own. One that replaces another has its number. */
  number: number
  databaseUrl: string
  /** The node listens there already. */
  ports: { http: number; tls: number | null }
  /** Base64; null where no TLS is served. */
  ticketKeys: string | null
}

export type ToEdgeProcess =
  | { kind: 'start'; task: EdgeTask }
  | { kind: 'ticket-keys'; keys: string }
  | { kind: 'catch-up' | 'report'; question: number }
  | { kind: 'close'; withinMs: number }

export type FromEdgeProcess =
  | { kind: 'listening' }
  | { kind: 'answered-at-once'; count: number }
  | { kind: 'answer'; question: number; metrics: ProcessMetrics }

/** One that ends sooner starts again after a pause. */
const STEADY_MS = 60_000
const LEAST_PAUSE_MS = 250
const MOST_PAUSE_MS = 30_000
/** An edge process answers at once; PostgreSQL's notifications take half a second at most. */
const ANSWER_MS = 1_000
/** Loading and connecting, on a busy machine. */
const START_MS = 60_000

/**
 * Starts the processes and keeps their number: one that ends unexpectedly is replaced. They listen on the ports of the
 * node, among which the kernel shares out connections.
 */
export class EdgeProcesses {
  readonly #count: number
  readonly #clock: Clock
  readonly #log: Log
  readonly #running = new Set<EdgeProcess>()
  readonly #pauses = new Set<NodeJS.Timeout>()
  #task: Omit<EdgeTask, 'ticketKeys' | 'number'> | null = null
  #ticketKeys: string | null = null
  /** Figures of processes that have ended, so that sums never fall. */
  #past: ProcessMetrics = []
  #pastAnsweredAtOnce = 0
  #isClosing = false

  /** `count`: beside the node's own. */
  constructor(count: number, clock: Clock, log: Log) {
    this.#count = count
    this.#clock = clock
    this.#log = log
  }

  /** Resolves when all listen. Rejects if one does not start. */
  async start(task: Omit<EdgeTask, 'ticketKeys' | 'number'>): Promise<void> {
    this.#task = task
    await Promise.all(Array.from({ length: this.#count }, (_, at) => this.#startOne(at + 1, LEAST_PAUSE_MS)))
  }

  /** Requests so far that waited for no render. */
  get answeredAtOnce(): number {
    let sum = this.#pastAnsweredAtOnce
    for (const each of this.#running) sum += each.answeredAtOnce
    return sum
  }

  get pids(): number[] {
    return [...this.#running].map(({ pid }) => pid)
  }

  /** All processes accept each other's session tickets. */
  useTicketKeys(keys: Buffer): void {
    this.#ticketKeys = keys.toString('base64')
    for (const each of this.#running) each.tell({ kind: 'ticket-keys', keys: this.#ticketKeys })
  }

  /** Waits until the processes have heard of earlier commits, a second at most. Never rejects. */
  async caughtUp(): Promise<void> {
    await Promise.all([...this.#running].map((each) => each.ask('catch-up')))
  }

  /** One list for each process that answers within a second, and one for those that have ended. */
  async metrics(): Promise<ProcessMetrics[]> {
    const found = await Promise.all([...this.#running].map((each) => each.ask('report')))
    return [this.#past, ...found]
  }

  /** They drain at the same time; those that are late are killed. */
  async close({ remainingMs, signal }: Deadline): Promise<void> {
    this.#isClosing = true
    for (const pause of this.#pauses) clearTimeout(pause)
    const withinMs = remainingMs()
    const kill = () => {
      for (const each of this.#running) each.kill()
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill)
    await Promise.all([...this.#running].map((each) => each.close(withinMs)))
    signal.removeEventListener('abort', kill)
  }

  async #startOne(number: number, pauseMs: number): Promise<void> {
    if (this.#task === null) throw new Error('The edge processes were not started')
    const startedMs = this.#clock.nowMs()
    const started = new EdgeProcess({ ...this.#task, number, ticketKeys: this.#ticketKeys })
    this.#running.add(started)
    void started.ended.then(async (how) => {
      this.#running.delete(started)
      if (this.#isClosing) return
      this.#pastAnsweredAtOnce += started.answeredAtOnce
      this.#past = await sumOfMetrics([this.#past, started.lastMetrics])
      const isSteady = this.#clock.nowMs() - startedMs >= STEADY_MS
      const nextPauseMs = isSteady ? LEAST_PAUSE_MS : pauseMs
      this.#log.error(
        { pid: started.pid, how, pause_ms: nextPauseMs },
        'an edge process ended and is replaced',
      )
      if (started.hasListened) this.#replaceAfter(number, nextPauseMs)
    })
    await started.listening
  }

  #replaceAfter(number: number, pauseMs: number): void {
    const pause = setTimeout(() => {
      this.#pauses.delete(pause)
      if (this.#isClosing) return
      this.#startOne(number, Math.min(2 * pauseMs, MOST_PAUSE_MS)).catch(() => {
        if (!this.#isClosing) this.#replaceAfter(number, Math.min(2 * pauseMs, MOST_PAUSE_MS))
      })
    }, pauseMs)
    this.#pauses.add(pause)
  }
}

class EdgeProcess {
  readonly #child: ChildProcess
  readonly listening: Promise<void>
  /** Settles with its exit status or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  readonly #questions = new Map<number, (metrics: ProcessMetrics) => void>()
  #lastQuestion = 0
  answeredAtOnce = 0
  lastMetrics: ProcessMetrics = []
  hasListened = false

  constructor(task: EdgeTask) {
    const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
    const program = fileURLToPath(new URL(`./edge-process.${extension}`, import.meta.url))
    // stdout is for the line that says that the node is ready.
    const child = fork(program, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child = child
    this.ended = new Promise((resolve) => {
      child.once('error', () => resolve(null))
      child.once('exit', (code, signal) => resolve(code ?? signal))
    })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.listening = promise
    const late = setTimeout(() => {
      this.kill()
      reject(new Error(`An edge process did not listen in ${START_MS} ms`))
    }, START_MS)
    child.on('message', (message: FromEdgeProcess) => {
      if (message.kind === 'answered-at-once') this.answeredAtOnce = message.count
      if (message.kind === 'answer') this.#answered(message.question, message.metrics)
      if (message.kind !== 'listening') return
      clearTimeout(late)
      this.hasListened = true
      resolve()
    })
    void this.ended.then((how) => {
      clearTimeout(late)
      for (const answer of this.#questions.values()) answer([])
      this.#questions.clear()
      reject(new Error(`An edge process ended while it started (${how}); its log says why`))
    })
    this.tell({ kind: 'start', task })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Does nothing if it has ended. */
  tell(message: ToEdgeProcess): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /** Returns its metrics when it has done what is asked; those of its last answer if it is late. */
  async ask(kind: 'catch-up' | 'report'): Promise<ProcessMetrics> {
    if (!this.#child.connected) return this.lastMetrics
    this.#lastQuestion++
    const question = this.#lastQuestion
    const answer = new Promise<ProcessMetrics>((resolve) => this.#questions.set(question, resolve))
    this.tell({ kind, question })
    const found = await within(ANSWER_MS, answer, this.lastMetrics)
    this.#questions.delete(question)
    return found
  }

  async close(withinMs: number): Promise<void> {
    this.tell({ kind: 'close', withinMs })
    await this.ended
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #answered(question: number, metrics: ProcessMetrics): void {
    if (metrics.length > 0) this.lastMetrics = metrics
    this.#questions.get(question)?.(metrics)
  }
}
