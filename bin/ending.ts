/**
 * What tells this process to end. `asked` settles at the first of them, with
 * the reason for the log; the second signal ends the process at once.
 */
export function watchForEnding(options: { underNpm: boolean }): { asked: Promise<string>; unwatch(): void } {
  const { promise: asked, resolve } = Promise.withResolvers<string>()
  let signals = 0
  const onSignal = (signal: NodeJS.Signals) => {
    signals += 1
    if (signals > 1) process.exit(1)
    resolve(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)

  // bin/prepaint.js runs us under another Node: when that one is killed, its pipe to us closes.
  const onDisconnect = () => resolve('the process that started us is gone')
  if (process.connected) process.on('disconnect', onDisconnect)

  // npm killed with -9 can tell us nothing: we are handed to another parent.
  const { ppid } = process
  const watch = options.underNpm
    ? setInterval(() => {
        if (process.ppid !== ppid) resolve('npm is gone')
      }, PARENT_CHECK_MS)
    : null
  watch?.unref()

  return {
    asked,
    unwatch() {
      for (const signal of SIGNALS) process.off(signal, onSignal)
      process.off('disconnect', onDisconnect)
      if (watch !== null) clearInterval(watch)
    },
  }
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const PARENT_CHECK_MS = 500
