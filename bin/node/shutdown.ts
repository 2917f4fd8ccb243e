const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const PARENT_CHECK_MS = 500
const ECHO_MS = 500
/** For closing what a cancelled startup had opened. */
const CLOSE_TIMEOUT_MS = 2_000

const exitWell = () => process.exit(0)

/** For the moments before a command has opened anything. `watchForShutdown` takes over. */
export function exitOnSignal(): void {
  for (const signal of SIGNALS) process.on(signal, exitWell)
}

export type Shutdown = {
  /** Settles with the first reason to shut down, for the log. */
  requested: Promise<string>
  /** Aborts at the same moment. */
  signal: AbortSignal
  unwatch(): void
}

/**
 * Watches for reasons to shut down: signals, and the death of the parent process.
 * A second signal exits at once. The same signal within half a second is an echo:
 * a signal to the process group (terminal, `timeout`, supervisors) arrives
 * directly and again through npm.
 */
export function watchForShutdown(options: { underNpm: boolean }): Shutdown {
  const { promise: requested, resolve } = Promise.withResolvers<string>()
  const stopped = new AbortController()
  const shutDown = (reason: string) => {
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
    shutDown(signal)
  }
  for (const signal of SIGNALS) {
    process.on(signal, onSignal)
    process.off(signal, exitWell)
  }

  // bin/prepaint.js may run this process under another Node; when that one is killed, its pipe closes.
  const onDisconnect = () => shutDown('the parent process is gone')
  if (process.connected) process.on('disconnect', onDisconnect)

  // After kill -9 of npm this process gets another parent.
  const { ppid } = process
  const watch = options.underNpm
    ? setInterval(() => {
        if (process.ppid !== ppid) shutDown('npm is gone')
      }, PARENT_CHECK_MS)
    : null
  watch?.unref()

  return {
    requested,
    signal: stopped.signal,
    unwatch() {
      for (const signal of SIGNALS) process.off(signal, onSignal)
      process.off('disconnect', onDisconnect)
      if (watch !== null) clearInterval(watch)
    },
  }
}

/**
 * Runs `start`. null: a shutdown was requested before it was ready, and what it
 * had opened is closed. A step that cannot be cancelled, such as creating the
 * database, is abandoned after two seconds: the process exits with status 0, its
 * children shut themselves down, and the next start can cope with what is left.
 */
export async function startUnlessStopped<T extends { close(): Promise<void> }>(
  { signal }: Pick<Shutdown, 'signal'>,
  start: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const abandon = () => {
    timer = setTimeout(() => process.exit(0), CLOSE_TIMEOUT_MS)
  }
  signal.addEventListener('abort', abandon, { once: true })
  try {
    const started = await start(signal)
    if (!signal.aborted) return started
    await started.close()
    return null
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    signal.removeEventListener('abort', abandon)
    clearTimeout(timer)
  }
}
