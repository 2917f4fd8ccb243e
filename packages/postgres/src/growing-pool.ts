import pg from 'pg'

export type PoolSize = {
  /** Connections that are opened as they are needed. */
  few: number
  /** Connections if those do not suffice. */
  most: number
  /** Another one is opened for who has waited so long. Statements take a millisecond or two. Default: 50. */
  patienceMs?: number
}

const PATIENCE_MS = 50

/**
 * A pool that does with few connections while they suffice, because a connection that has seen all statements holds up to 17 MiB of
 * the server (docs/decisions/0093-few-connections-while-they-suffice.md).
 */
export class GrowingPool extends pg.Pool {
  readonly #few: number
  readonly #most: number
  readonly #patienceMs: number
  #acquired = 0
  #timer: NodeJS.Timeout | null = null

  constructor(config: pg.PoolConfig, { few, most, patienceMs = PATIENCE_MS }: PoolSize) {
    super({ ...config, max: few })
    this.#few = few
    this.#most = most
    this.#patienceMs = patienceMs
    this.on('acquire', () => {
      this.#acquired++
    })
    this.on('remove', () => this.#shrink())
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: PoolCallback): void
  override connect(callback?: PoolCallback): Promise<pg.PoolClient> | undefined {
    const connecting = callback === undefined ? super.connect() : void super.connect(callback)
    this.#watch()
    return connecting
  }

  /** Grows if who waits now is still waiting later. */
  #watch(): void {
    if (this.#timer !== null || this.waitingCount === 0 || this.totalCount >= this.#most) return
    const served = this.#acquired + this.waitingCount
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.ending || this.waitingCount === 0) return
      if (this.#acquired < served) this.#grow()
      this.#watch()
    }, this.#patienceMs)
    this.#timer.unref()
  }

  #grow(): void {
    this.options.max = Math.min(this.totalCount + 1, this.#most)
    // Opens a connection. Who has waited longest gets it when it is given back.
    this.connect((error, _client, release) => {
      release()
      if (error !== undefined) this.#shrink()
    })
  }

  #shrink(): void {
    this.options.max = Math.max(this.#few, this.totalCount)
  }
}

type PoolCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void
