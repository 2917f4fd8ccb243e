import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { SystemUser } from '../../system-user.ts'

/** How a child ended, and the last that it said on stderr. */
export type ChildEnd = { status: number | null; lastWords: string }

export type WatchedChild = {
  /** Settles once, when the child is gone. Never rejects. */
  readonly ended: Promise<ChildEnd>
  /** Asks the child to end, as our own death would. */
  stop(): void
  /** From here on the child does not keep our event loop alive, until it is stopped. */
  background(): void
}

type WatchedCommand = {
  command: string
  args: readonly string[]
  user: SystemUser
  /** What ends the child quickly and well: INT for the postmaster (fast shutdown), TERM for the rest. */
  signal: 'INT' | 'TERM' | 'QUIT'
  /** Removed once the child has ended, also when we are no longer there to do it. */
  removeAfter?: string
  env?: Readonly<Record<string, string>>
  /** Each line of stderr. */
  onLine?: (line: string) => void
}

/**
 * Descriptor 3 is a pipe from us. Its end is the one message that a process
 * killed with -9 still sends: the watcher then signals the child, again every
 * second (a shell starts background jobs with SIGINT ignored, so the first may
 * come before the child listens), and after ten seconds with QUIT, which ends
 * PostgreSQL at once and leaves the rest to its log. When the child ends first,
 * the watcher is ended, so that it can never signal a stranger with that pid.
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
 * Starts a child that ends within seconds of us, however we end. It has a
 * session of its own, so Ctrl-C on the terminal reaches us alone and we end it
 * in order.
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
  // The other end is gone when the child is: nothing to say about that.
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
      // Should only the watchdog have been killed, the watcher now ends the child.
      lifeline?.destroy()
      // When only the watchdog was killed, its child still holds stderr open:
      // the rest of the words is worth a moment, not more.
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

/** Pipes of a child are sockets, whose `unref` the type of a stream does not tell. */
function unref(stream: object | null): void {
  if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref()
}

/**
 * The whole environment of PostgreSQL and of the commands around it. Ours is
 * not passed on: PGDATA, PGOPTIONS and the like would change what they do, a
 * locale would translate the messages that we read, and DATABASE_URL holds a
 * password.
 */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}
