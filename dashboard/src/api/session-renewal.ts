/** As much of a `BroadcastChannel` as is used. */
export type Channel = {
  postMessage(word: unknown): void
  onmessage: ((event: MessageEvent) => void) | null
}

type Word = 'begins' | 'renewed' | 'kept'

/** A window that was closed in the middle says nothing more: nobody waits for it longer than this. */
const MOST_MS = 15_000

export type Renewals = {
  /** Does what gives the session another cookie, and tells other windows of this browser. */
  renew<Answer>(ask: () => Promise<Answer>): Promise<Answer>
  /** How often the session has got another cookie. */
  readonly count: number
  /** When none is on its way any more. */
  settled(): Promise<void>
  /** Hears of renewals by other windows, which share the cookie, and tells them of ours. */
  join(channel: Channel): void
}

/**
 * A change of password gives the session another cookie. Between the end of the
 * old one and the arrival of the new, whatever is asked is refused, in each
 * window of the browser: it is to be asked again and not taken for a sign-out.
 */
export function createRenewals(): Renewals {
  let count = 0
  let own: Promise<unknown> = Promise.resolve()
  let others: Promise<void> = Promise.resolve()
  let othersEnd = () => {}
  let channel: Channel | null = null
  const say = (word: Word) => channel?.postMessage(word)

  return {
    renew(ask) {
      say('begins')
      const asked = ask().then(
        (answer) => {
          count += 1
          say('renewed')
          return answer
        },
        (error: unknown) => {
          say('kept')
          throw error
        },
      )
      own = asked.catch(() => {})
      return asked
    },
    get count() {
      return count
    },
    async settled() {
      await own
      await others
    },
    join(joined) {
      channel = joined
      joined.onmessage = ({ data }: { data: Word }) => {
        othersEnd()
        if (data === 'renewed') count += 1
        if (data !== 'begins') return
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, MOST_MS)
        others = promise
        othersEnd = () => {
          clearTimeout(timer)
          resolve()
        }
      }
    },
  }
}
