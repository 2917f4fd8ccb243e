/**
 * Runs `step` every `pollMs` and after `wake`, again at once while it answers true, one at a time. After an error the
 * next poll tries again.
 */
export function startWhileDue(
  pollMs: number,
  step: () => Promise<boolean>,
  onError: (error: unknown) => void,
): { wake(): void; close(): Promise<void> } {
  let isClosed = false
  let isAsked = false
  let running = Promise.resolve()
  const timer = setInterval(wake, pollMs)

  function wake(): void {
    if (isAsked) return
    isAsked = true
    running = running.then(run)
  }

  async function run(): Promise<void> {
    isAsked = false
    try {
      while (!isClosed && (await step())) {}
    } catch (error) {
      onError(error)
    }
  }
  return {
    wake,
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
    },
  }
}
