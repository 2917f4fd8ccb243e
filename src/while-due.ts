/** Runs `step` every `pollMs`, again at once while it answers true, one at a time. After an error the next poll tries again. */
export function startWhileDue(
  pollMs: number,
  step: () => Promise<boolean>,
  onError: (error: unknown) => void,
): { close(): Promise<void> } {
  let isClosed = false
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(run)
  }, pollMs)

  async function run(): Promise<void> {
    try {
      while (!isClosed && (await step())) {}
    } catch (error) {
      onError(error)
    }
  }
  return {
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
    },
  }
}
