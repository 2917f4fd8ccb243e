import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, lchownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, afterEach } from 'node:test'
import type { SystemUser } from '@prepaint/runtime/system-user.ts'
import { until } from './condition.ts'
import { processesOf } from './processes.ts'

type Event =
  | { event: 'step'; line: string }
  | { event: 'refused'; name: string; message: string }
  | { event: 'open'; host: string }
  | { event: 'rows'; rows: Record<string, unknown>[] }
  | { event: 'failed'; message: string }
  | { event: 'closed' }

type Options = { attach?: boolean; user?: SystemUser }

const started = new Set<ChildProcess>()

afterEach(() => Promise.all([...started].map(killChild)))

async function killChild(child: ChildProcess): Promise<void> {
  const exited = child.exitCode ?? child.signalCode ?? once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  started.delete(child)
}

/** Opens the database of a data directory. It is killed when the test ends. */
export function startTestProcess(dataDir: string, { attach = false, user = null }: Options = {}) {
  const main = path.join(import.meta.dirname, 'database-process-main.ts')
  const child: ChildProcess = spawn(process.execPath, [main, dataDir, attach ? 'attach' : ''], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  })
  started.add(child)
  child.stdin!.on('error', () => {})
  const events = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()

  async function nextOf(wanted: (event: Event) => boolean): Promise<Event> {
    for (;;) {
      const { value, done } = await events.next()
      if (done) throw new Error(`process ${child.pid} ended`)
      const event = JSON.parse(value) as Event
      if (wanted(event)) return event
      if (event.event === 'refused') throw new Error(`refused: ${event.message}`)
    }
  }
  /** Drops other events before it. Rejects at the end of the process. */
  const next = async <K extends Event['event']>(kind: K) =>
    (await nextOf((event) => event.event === kind)) as Extract<Event, { event: K }>

  return {
    pid: child.pid!,
    next,
    nextEnd: () => nextOf((event) => event.event !== 'step'),
    async query(sql: string): Promise<Record<string, unknown>[]> {
      child.stdin!.write(`${sql}\n`)
      const answer = await nextOf(({ event }) => event === 'rows' || event === 'failed')
      if (answer.event === 'rows') return answer.rows
      throw new Error(answer.event === 'failed' ? answer.message : answer.event)
    },
    async close() {
      const exited = child.exitCode ?? child.signalCode ?? once(child, 'exit')
      child.stdin!.write('close\n')
      await exited
      started.delete(child)
    },
    kill: () => killChild(child),
  }
}

/** As `startTestProcess`, once the database is open at `host`. */
export async function openTestProcess(dataDir: string, options?: Options) {
  const child = startTestProcess(dataDir, options)
  const { host } = await child.next('open')
  return { ...child, host }
}

/** A data directory that PostgreSQL's user can enter, unlike one of `mkdtemp`. It is removed once its processes have ended. */
export function testDataDir(user: SystemUser = null): string {
  const dir = mkdtempSync(path.join(realpathSync(tmpdir()), 'prepaint-data-'))
  chmodSync(dir, 0o711)
  if (user !== null) lchownSync(dir, user.uid, user.gid)
  after(async () => {
    await until(`no process of ${dir} is left`, () => processesIn(dir).length === 0)
    removeDataDir(dir)
  })
  return dir
}

export function removeDataDir(dir: string): void {
  const link = path.join(dir, 'postgres')
  if (existsSync(link)) {
    const real = realpathSync(link)
    const elsewhere = !real.startsWith(realpathSync(dir))
    rmSync(elsewhere ? path.dirname(real) : real, { recursive: true, force: true })
  }
  rmSync(dir, { recursive: true, force: true })
}

export const processesIn = (dir: string): number[] => processesOf(dir).map(({ pid }) => pid)
