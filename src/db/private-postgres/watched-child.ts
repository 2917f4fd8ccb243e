import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { SystemUser } from '../../system-user.ts'

/** `lastWords`: the end of stderr. */
export type ChildEnd = { status: number | null; lastWords: string }

export type WatchedChild = {
  /** Settles when the child is gone; never rejects. */
  readonly ended: Promise<ChildEnd>
  /** Signals the child, as the death of this process does. */
  stop(): void
  /** The child no longer keeps the event loop alive, until `stop`. */
  background(): void
}

type WatchedCommand = {
  command: string
  args: readonly string[]
  user: SystemUser
  /** Stops the child quickly and cleanly: INT for the postmaster (fast shutdown), TERM for others. */
  signal: 'INT' | 'TERM' | 'QUIT'
  /** Removed after the child has ended, even if this process was killed. */
  removeAfter?: string
  env?: Readonly<Record<string, string>>
  /** Called with each line of stderr. */
  onLine?: (line: string) => void
}

/**
 * Descriptor 3 is a pipe from this process. Its end tells the watcher that this
 * process is gone, even after kill -9. The watcher then signals the child every
 * second (a shell starts background jobs with SIGINT ignored, so the first signal
 * may come too early), and after ten seconds with QUIT. If the child ends first,
 * the watcher is stopped, so that it never signals another process with that pid.
 */
const WATCHDOG = `
signal=$1 remove=$2; shift 2
"$@" 3<&- &
child=$!
(
  exec >/dev/null 2>&1
  read -r _ <&3
  exec 3<&-
  nap=
  trap 'kill $nap; exit' TERM
  tries=0
  while kill -s "$signal" $child; do
    tries=$((tries + 1))
    [ $tries -lt 10 ] || signal=QUIT
    sleep 1 & nap=$!
    wait $nap
  done
) &
watcher=$!
trap '' HUP INT TERM
exec 3<&-
wait $child
status=$?
kill -s TERM $watcher 2>/dev/null
[ -z "$remove" ] || rm -rf -- "$remove"
exit $status
`

const LAST_WORDS_CHARS = 4_000

/**
 * Starts a child that ends within seconds after this process, even after kill -9.
 * It has its own session, so Ctrl-C reaches only this process.
 */
export function startWatchedChild(options: WatchedCommand): WatchedChild {
  const { command, args, user, signal, removeAfter, onLine } = options
  const child: ChildProcess = spawn(
    '/bin/sh',
    ['-c', WATCHDOG, 'prepaint-watchdog', signal, removeAfter ?? '', command, ...args],
    {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      detached: true,
      cwd: '/',
      env: { ...CHILD_ENVIRONMENT, ...options.env },
      ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    },
  )
  const lifeline = child.stdio[3] as Duplex | null
  lifeline?.on('error', () => {})
  const stderr = child.stderr

  let lastWords = ''
  let line = ''
  stderr?.setEncoding('utf8')
  stderr?.on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-LAST_WORDS_CHARS)
    const lines = (line + text).split('\n')
    line = (lines.pop() ?? '').slice(-LAST_WORDS_CHARS)
    for (const whole of lines) onLine?.(whole)
  })

  const ended = new Promise<ChildEnd>((resolve) => {
    child.once('error', (error) => resolve({ status: null, lastWords: error.message }))
    child.once('exit', (status) => {
      // If only the watchdog was killed, the watcher now stops the child,
      lifeline?.destroy()
      // which still has stderr open: do not wait long for the rest of it.
      const end = () => resolve({ status, lastWords })
      child.once('close', end)
      setTimeout(end, 300).unref()
    })
  })
  return {
    ended,
    stop() {
      child.ref()
      lifeline?.destroy()
    },
    background() {
      child.unref()
      unref(lifeline)
      unref(stderr)
    },
  }
}

/** Pipes of a child are sockets, but not by their type. */
function unref(stream: object | null): void {
  if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref()
}

/**
 * The whole environment of PostgreSQL and its commands. PGDATA, PGOPTIONS and the
 * like would change what they do, a locale would translate their messages, and
 * DATABASE_URL contains a password.
 */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}
