import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { SystemUser } from '@prepaint/runtime/system-user.ts'

export type ChildEnd = { status: number | null; lastWords: string }

type WatchedCommand = {
  command: string
  args: readonly string[]
  user: SystemUser
  /** PostgreSQL shuts down fast at INT. Other programs get TERM. */
  signal: 'INT' | 'TERM' | 'QUIT'
  removeAfter?: string | undefined
  env?: Readonly<Record<string, string>>
  onLine?: (line: string) => void
}

/**
 * Pipe 3 ends when this process is gone, even after kill -9. The watcher then signals the child every second,
 * because a shell starts background jobs with SIGINT ignored; after ten seconds it sends QUIT. If the child
 * ends first, the watcher stops, so it never signals a reused pid.
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

/** A child in a session of its own (no Ctrl-C). It ends seconds after this process, even after kill -9. */
export class WatchedChild {
  readonly ended: Promise<ChildEnd>
  readonly #child: ChildProcess
  readonly #lifeline: Duplex | null
  #lastWords = ''
  #unfinishedLine = ''

  constructor({
    command,
    args,
    user,
    signal,
    removeAfter = '',
    env = {},
    onLine = () => {},
  }: WatchedCommand) {
    this.#child = spawn(
      '/bin/sh',
      ['-c', WATCHDOG, 'prepaint-watchdog', signal, removeAfter, command, ...args],
      {
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        detached: true,
        cwd: '/',
        env: { ...CHILD_ENVIRONMENT, ...env },
        uid: user?.uid,
        gid: user?.gid,
      },
    )
    this.#lifeline = this.#child.stdio[3] as Duplex | null
    this.#lifeline?.on('error', () => {})
    this.#child.stderr?.setEncoding('utf8')
    this.#child.stderr?.on('data', (text: string) => this.#hear(text, onLine))
    this.ended = this.#end()
  }

  stop(): void {
    this.#child.ref()
    this.#lifeline?.destroy()
  }

  /** Lets the event loop end while the child runs, until `stop`. */
  background(): void {
    this.#child.unref()
    unref(this.#lifeline)
    unref(this.#child.stderr)
  }

  #hear(text: string, onLine: (line: string) => void): void {
    this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS_CHARS)
    const lines = (this.#unfinishedLine + text).split('\n')
    this.#unfinishedLine = (lines.pop() ?? '').slice(-LAST_WORDS_CHARS)
    for (const line of lines) onLine(line)
  }

  #end(): Promise<ChildEnd> {
    return new Promise((resolve) => {
      this.#child.once('error', (error) => resolve({ status: null, lastWords: error.message }))
      this.#child.once('exit', (status) => {
        // If only the watchdog was killed, the watcher now stops the child.
        this.#lifeline?.destroy()
        // The child still has stderr open: do not wait long for the rest.
        const end = () => resolve({ status, lastWords: this.#lastWords })
        this.#child.once('close', end)
        setTimeout(end, 300).unref()
      })
    })
  }
}

/** A child's pipes are sockets at run time, but not in the types. */
function unref(stream: object | null): void {
  if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref()
}

/** Children get no other variables: PGDATA and PGOPTIONS change behaviour, locales translate messages, DATABASE_URL is secret. */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}
