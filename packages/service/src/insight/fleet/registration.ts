import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { BEAT_MS, DEAD_AFTER_MS, type NodePulse, type NodeSelf, REMOVED_AFTER_MS } from './node.ts'

const QUERY_TIMEOUT_MS = 4_000

// Asynchronous commit: the next beat comes in five seconds. Also deletes the rows of dead nodes, which cannot, and returns the
// first migration that this version cannot work with. One statement, because an idle node does little else.
const BEAT = `
  with quickly as materialized (select set_config('synchronous_commit', 'off', true)
  ), removed as (
    delete from node where seen_at < clock_timestamp() - $16 * interval '1 millisecond' and id <> $1
  ), beat as (
  insert into node as known (id, host, version, roles, cores, slots, schema, draining, running, load, memory_bytes, browser,
                             browsers, browsers_started, api_port)
  select $1, $2, $3, $4::text[], $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 from quickly
  on conflict (id) do update set
    seen_at = clock_timestamp(), draining = excluded.draining, running = excluded.running,
    load = excluded.load, memory_bytes = excluded.memory_bytes, browser = excluded.browser,
    browsers = excluded.browsers, browsers_started = excluded.browsers_started, api_port = excluded.api_port)
  select (select name from schema_migration where breaking and name > $7 collate "C" order by name limit 1) as name,
         array(select id from node
                where seen_at < clock_timestamp() - $17 * interval '1 millisecond' and not draining and id <> $1) as dead`

/** Tells every process of a dead node, without waiting for disk or replica. */
const DIED = `
  with quick as (select set_config('synchronous_commit', 'off', true))
  select pg_notify($2, id) from quick, unnest($1::text[]) as id`

/**
 * This node's row in the list of nodes, updated every five seconds. Later errors are logged: other nodes see this one as
 * dead until its next beat.
 */
export class Registration {
  readonly #pool: pg.Pool
  readonly #log: Log
  readonly #self: NodeSelf
  readonly #pulse: () => NodePulse
  readonly #diedChannel: string | null
  #knownDead: ReadonlySet<string> = new Set()
  readonly #outdated = Promise.withResolvers<string>()
  #beating: Promise<void> | null = null
  #isFailing = false
  #timer: NodeJS.Timeout | undefined

  private constructor(
    pool: pg.Pool,
    log: Log,
    self: NodeSelf,
    pulse: () => NodePulse,
    diedChannel: string | null,
  ) {
    this.#diedChannel = diedChannel
    this.#pool = pool
    this.#log = log
    this.#self = self
    this.#pulse = pulse
  }

  /** `pulse` tells how the node is, at each beat. Deaths of other nodes are told on `diedChannel`. Rejects if the first beat fails. */
  static async start(
    pool: pg.Pool,
    log: Log,
    self: NodeSelf,
    pulse: () => NodePulse,
    diedChannel: string | null = null,
    { beatMs = BEAT_MS }: { beatMs?: number } = {},
  ): Promise<Registration> {
    const registration = new Registration(pool, log, self, pulse, diedChannel)
    await registration.#write()
    registration.#timer = setInterval(() => void registration.#beatOnce(), beatMs).unref()
    return registration
  }

  /** Settles with the name of a breaking migration that this node does not know. */
  get outdated(): Promise<string> {
    return this.#outdated.promise
  }

  /** Publishes changes at once, such as draining. */
  async beat(): Promise<void> {
    await this.#beating
    await this.#beatOnce()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#beating
    try {
      await this.#query('delete from node where id = $1', [this.#self.id])
    } catch (error) {
      this.#log.debug({ err: (error as Error).message }, 'this node could not delete its row; others will')
    }
  }

  /** Shares a beat that is under way. Never rejects. */
  #beatOnce(): Promise<void> {
    this.#beating ??= this.#tryToWrite().finally(() => {
      this.#beating = null
    })
    return this.#beating
  }

  async #tryToWrite(): Promise<void> {
    try {
      await this.#write()
      if (this.#isFailing) this.#log.info('this node is in the list of nodes again')
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        this.#log.warn({ err: error }, 'this node could not update its row in the list of nodes')
      this.#isFailing = true
    }
  }

  async #write(): Promise<void> {
    const { id, host, version, roles, cores, slots, schema } = this.#self
    const { draining, running, load, memoryBytes, browser, browsers, apiPort = null } = this.#pulse()
    const [row] = await this.#query(BEAT, [
      id,
      host,
      version,
      [...roles],
      cores,
      slots,
      schema,
      draining,
      running,
      load,
      Math.round(memoryBytes),
      browser,
      browsers?.alive ?? 0,
      browsers?.started ?? 0,
      apiPort,
      REMOVED_AFTER_MS,
      DEAD_AFTER_MS,
    ])
    if (row?.name) this.#outdated.resolve(row.name)
    await this.#tellDead(row?.dead ?? [])
  }

  /** Each node tells of a death once: what the dead one stored in its last moments may not have been told. */
  async #tellDead(dead: readonly string[]): Promise<void> {
    const died = dead.filter((id) => !this.#knownDead.has(id))
    // Those that live again. A death counts as told when it was: a failed query is tried again with the next beat.
    this.#knownDead = new Set(dead.filter((id) => this.#knownDead.has(id)))
    if (died.length > 0 && this.#diedChannel !== null) await this.#query(DIED, [died, this.#diedChannel])
    this.#knownDead = new Set(dead)
  }

  async #query(text: string, values: unknown[]): Promise<{ name?: string | null; dead?: string[] }[]> {
    const config = { text, values, query_timeout: QUERY_TIMEOUT_MS }
    return (await this.#pool.query<{ name?: string | null; dead?: string[] }>(config)).rows
  }
}
