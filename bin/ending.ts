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
