const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const PARENT_CHECK_MS = 500
const ECHO_MS = 500
const CLOSE_TIMEOUT_MS = 2_000

const exitWell = () => process.exit(0)

/** Before a command opens anything. `watchForShutdown` takes over. */
export function exitOnSignal(): void {
  for (const signal of SIGNALS) process.on(signal, exitWell)
}

export type Shutdown = {
  /** Settles with the first reason to shut down, for the log. */
  requested: Promise<string>
  signal: AbortSignal
  unwatch(): void
}

/** A second signal exits at once; the same one within 0.5 s is npm's echo of a process-group signal. */
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

  // The channel closes when the parent (bin/prepaint.js) is killed.
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
 * Returns null if shutdown came first. After two seconds it abandons steps that cannot be cancelled; children shut themselves
 * down.
 */
export async function startUnlessStopped<T extends { close(): Promise<void> }>(
  { signal }: Shutdown,
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
