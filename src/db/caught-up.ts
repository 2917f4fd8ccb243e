import { setTimeout as sleep } from 'node:timers/promises'

/**
 * How a listener learns that it has heard everything: it sends a token to
 * itself and waits until that comes back. PostgreSQL delivers notifications in
 * the order of their commits, so whatever was committed before has come first.
 */
export type CatchUp = {
  /** Takes what arrives on the listener's own channel. */
  take(token: string): void
  /** The connection is lost, and all who react to that know: there is nothing more to wait for. */
  lost(): void
  /** Resolves when a token sent after this call has come back, or after `withinMs`; never rejects. */
  caughtUp(): Promise<void>
}

/**
 * `send` notifies the own channel; it gives false when nothing will come of it,
 * because there is no connection; else the token or `lost` follows. One token is under way at a time: all who ask meanwhile
 * share the next one, so that a hundred purges at once cost two.
 */
export function createCatchUp(send: (token: string) => Promise<boolean>, withinMs: number): CatchUp {
  let sent = 0
  let awaited: { token: string; seen(): void } | null = null
  let lastRound: Promise<void> = Promise.resolve()
  let nextRound: Promise<void> | null = null

  async function round(): Promise<void> {
    // Who asks from here on may have committed after the token was sent.
    nextRound = null
    const { promise, resolve } = Promise.withResolvers<void>()
    awaited = { token: String(++sent), seen: resolve }
    if (await send(awaited.token)) await promise
    awaited = null
  }

  return {
    take(token) {
      if (awaited?.token === token) awaited.seen()
    },
    lost: () => awaited?.seen(),
    async caughtUp() {
      nextRound ??= lastRound = lastRound.then(round)
      const inTime = new AbortController()
      const late = sleep(withinMs, undefined, { signal: inTime.signal, ref: false })
      await Promise.race([nextRound, late])
      inTime.abort()
    },
  }
}
