const CHECK_EVERY_MS = 1_000
const BUSY_REQUESTS = 10

/** While the edge answers ten requests a second or more without a render, browsers leave it the cores. */
export function startPeopleFirst(
  answered: () => number,
  renderer: { yieldCores(isYielding: boolean): void },
): { close(): Promise<void> } {
  let before = answered()
  const timer = setInterval(() => {
    const now = answered()
    renderer.yieldCores(now - before >= BUSY_REQUESTS)
    before = now
  }, CHECK_EVERY_MS).unref()
  return { close: async () => clearInterval(timer) }
}
