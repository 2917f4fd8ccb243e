import type { Server } from 'node:http'
import net from 'node:net'
import type { Deadline } from './closing-stack.ts'

/** What told this process to end. */
export type Ending = {
  /** Settles at the first of them, with the reason for the log. */
  asked: Promise<string>
  /** Aborts at the same moment. */
  signal: AbortSignal
  unwatch(): void
}

/**
 * For the first moments of a command that runs until it is asked to end:
 * nothing has begun, so nothing is to be closed. `watchForEnding` takes over.
 */
export function endAtOnce(): void {
  for (const signal of SIGNALS) process.on(signal, exitWell)
}

/**
 * Watches for what tells this process to end; a second signal ends it at once.
 * The same one again within half a second is no second signal but an echo:
 * whoever signals a whole process group (a terminal, `timeout`, supervisors)
 * reaches us directly and once more through npm or themselves.
 */
export function watchForEnding(options: { underNpm: boolean }): Ending {
  const { promise: asked, resolve } = Promise.withResolvers<string>()
  const stopped = new AbortController()
  const end = (reason: string) => {
    stopped.abort()
    resolve(reason)
  }
  let signals = 0
  let echo: NodeJS.Signals | null = null
  const onSignal = (signal: NodeJS.Signals) => {
    if (signal === echo) return
    signals += 1
    if (signals > 1) process.exit(1)
    echo = signal
    setTimeout(() => {
      echo = null
    }, ECHO_MS).unref()
    end(signal)
  }
  for (const signal of SIGNALS) {
    process.on(signal, onSignal)
    process.off(signal, exitWell)
  }

  // bin/prepaint.js runs us under another Node: when that one is killed, its pipe to us closes.
  const onDisconnect = () => end('the process that started us is gone')
  if (process.connected) process.on('disconnect', onDisconnect)

  // npm killed with -9 can tell us nothing: we are handed to another parent.
  const { ppid } = process
  const watch = options.underNpm
    ? setInterval(() => {
        if (process.ppid !== ppid) end('npm is gone')
      }, PARENT_CHECK_MS)
    : null
  watch?.unref()

  return {
    asked,
    signal: stopped.signal,
    unwatch() {
      for (const signal of SIGNALS) process.off(signal, onSignal)
      process.off('disconnect', onDisconnect)
      if (watch !== null) clearInterval(watch)
    },
  }
}

const exitWell = () => process.exit(0)
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const PARENT_CHECK_MS = 500
const ECHO_MS = 500

const LOOK_EVERY_MS = 50
/** For requests that are on their way when the end begins: they are answered, and told that they were the last. */
const LAST_WORD_MS = 200

/**
 * Stops a server in order: no new connections, answers that are under way
 * finish, idle connections end. `deadline` cuts off what is left, upgraded
 * connections too, which node:http no longer counts as its own. `secure` takes
 * connections of TLS for the same server; `begin` tells clients that this is the end.
 */
export function drainable(
  server: Server,
  { secure = null, begin = () => {} }: { secure?: net.Server | null; begin?: () => void } = {},
): { drain(deadline: Deadline): Promise<void> } {
  const doors = secure === null ? [server] : [server, secure]
  const sockets = new Set<net.Socket>()
  for (const door of doors) {
    door.on('connection', (socket: net.Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
  }
  return {
    async drain({ signal: deadline }) {
      const listening = doors.filter((door) => door.listening)
      if (listening.length === 0) return
      begin()
      // No new connections. The servers' own `close` would cut those at once on which a request is just arriving.
      const closed = Promise.all(
        listening.map((door) => new Promise((resolve) => net.Server.prototype.close.call(door, resolve))),
      )
      let looks = LAST_WORD_MS / LOOK_EVERY_MS
      // A connection that was busy just now is idle after its answer, and would wait for another request.
      const idle = setInterval(() => {
        if (--looks > 0) return
        // To node an answer is over when it has been given whole, however much of it has not gone out.
        if (![...sockets].some(isSending)) server.closeIdleConnections()
        // To node one that never asked for anything is not idle: it could still begin.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      }, LOOK_EVERY_MS)
      const cut = () => {
        for (const socket of sockets) socket.destroy()
      }
      if (deadline.aborted) cut()
      deadline.addEventListener('abort', cut)
      await closed
      clearInterval(idle)
      deadline.removeEventListener('abort', cut)
    },
  }
}

function isSending({ writableLength }: net.Socket): boolean {
  return writableLength > 0
}

/** How long a start that was called off may take to close in order what it had opened. */
const CLOSE_WITHIN_MS = 2_000

/**
 * Starts what `start` starts. null: the process was asked to end before that
 * was ready, and what had been opened is closed. A step that cannot be called
 * off, such as the making of a database, is left behind after two seconds: the
 * process ends with status 0, its children end by themselves as they do when it
 * is killed, and a start that was cut off leaves nothing that the next one trips over.
 */
export async function startUnlessEnded<T extends { close(): Promise<void> }>(
  { signal }: Pick<Ending, 'signal'>,
  start: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const leave = () => {
    timer = setTimeout(() => process.exit(0), CLOSE_WITHIN_MS)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    const started = await start(signal)
    if (!signal.aborted) return started
    await started.close()
    return null
  } catch (error) {
    // Whatever it failed at, nobody waits for it any more.
    if (signal.aborted) return null
    throw error
  } finally {
    signal.removeEventListener('abort', leave)
    clearTimeout(timer)
  }
}
