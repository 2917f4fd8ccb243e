import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { BEAT_MS, type NodePulse, type NodeSelf, REMOVED_AFTER_MS } from './node.ts'

export type Registration = {
  /** Call to publish changes at once, such as draining. */
  beat(): Promise<void>
  /** Settles with a breaking migration that this node does not know. */
  outdated: Promise<string>
  close(): Promise<void>
}

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
  select name from schema_migration where breaking and name > $7 collate "C" order by name limit 1`

/** Updates this node's row every five seconds. Logs later errors: others see the node as dead until the next beat. */
export async function startRegistration(
  deps: { pool: pg.Pool; pulse(): NodePulse; log: Log },
  self: NodeSelf,
  { beatMs = BEAT_MS }: { beatMs?: number } = {},
): Promise<Registration> {
  const { pool, pulse, log } = deps
  const { promise: outdated, resolve: becomeOutdated } = Promise.withResolvers<string>()
  let beating: Promise<void> | null = null
  let failing = false

  async function write(): Promise<void> {
    const { id, host, version, roles, cores, slots, schema } = self
    const { draining, running, load, memoryBytes, browser, browsers, apiPort = null } = pulse()
    const once = [id, host, version, [...roles], cores, slots, schema]
    const now = [draining, running, load, Math.round(memoryBytes), browser]
    const values = [...once, ...now, browsers?.alive ?? 0, browsers?.started ?? 0, apiPort, REMOVED_AFTER_MS]
    const [tooNew] = await query(BEAT, values)
    if (tooNew?.name !== undefined) becomeOutdated(tooNew.name)
  }

  async function query(text: string, values: unknown[]): Promise<{ name?: string }[]> {
    const config = { text, values, query_timeout: QUERY_TIMEOUT_MS }
    return (await pool.query<{ name?: string }>(config)).rows
  }

  function beat(): Promise<void> {
    beating ??= write()
      .then(
        () => {
          if (failing) log.info('this node is in the list of nodes again')
          failing = false
        },
        (error: Error) => {
          if (!failing)
            log.warn({ err: error.message }, 'this node could not update its row in the list of nodes')
          failing = true
        },
      )
      .finally(() => {
        beating = null
      })
    return beating
  }

  await write()
  const timer = setInterval(() => void beat(), beatMs)
  timer.unref()
  return {
    outdated,
    async beat() {
      await beating
      await beat()
    },
    async close() {
      clearInterval(timer)
      await beating
      await query('delete from node where id = $1', [self.id]).catch((error: Error) => {
        log.debug({ err: error.message }, 'this node could not delete its row; others will')
      })
    },
  }
}
