import type { Ending } from './ending.ts'

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
