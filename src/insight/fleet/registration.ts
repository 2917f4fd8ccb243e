import type pg from 'pg'

import type { Log } from '../../log.ts'
import { BEAT_MS, type NodePulse, type NodeSelf, REMOVED_AFTER_MS } from './node.ts'

export type Registration = {
  /** Says at once what has changed, such as that the node drains. */
  beat(): Promise<void>
  /** Settles with the name of a migration that this node cannot work with: one that breaks those who do not know it. */
  outdated: Promise<string>
  /** Takes the node out of the list. */
  close(): Promise<void>
}

/** A beat that has had no answer for so long is given up; the next one comes. */
const ANSWER_WITHIN_MS = 4_000

// A beat need not survive the server: there is another in five seconds.
const BEAT = `
  with quickly as materialized (select set_config('synchronous_commit', 'off', true))
  insert into node as known (id, host, version, roles, cores, slots, schema, draining, running, load, memory_bytes, browser,
                             browsers, browsers_started)
  select $1, $2, $3, $4::text[], $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 from quickly
  on conflict (id) do update set
    seen_at = clock_timestamp(), draining = excluded.draining, running = excluded.running,
    load = excluded.load, memory_bytes = excluded.memory_bytes, browser = excluded.browser,
    browsers = excluded.browsers, browsers_started = excluded.browsers_started`

/**
 * Puts this node into the list of nodes and keeps it there by a beat every five
 * seconds. The first is awaited; later ones never fail anybody: a node that
 * PostgreSQL does not hear is dead to the others, and there again with the next
 * beat that arrives.
 */
export async function startRegistration(
  deps: { pool: pg.Pool; pulse(): NodePulse; log: Log },
  self: NodeSelf,
  { beatMs = BEAT_MS }: { beatMs?: number } = {},
): Promise<Registration> {
  const { pool, pulse, log } = deps
  const { promise: outdated, resolve: becomeOutdated } = Promise.withResolvers<string>()
  let beating: Promise<void> | null = null
  let silent = false

  async function write(): Promise<void> {
    const { id, host, version, roles, cores, slots, schema } = self
    const { draining, running, load, memoryBytes, browser, browsers } = pulse()
    const once = [id, host, version, [...roles], cores, slots, schema]
    const now = [draining, running, load, Math.round(memoryBytes), browser]
    await ask(BEAT, [...once, ...now, browsers?.alive ?? 0, browsers?.started ?? 0])
    // Those of others, too: who is dead cannot do it himself.
    await ask(`delete from node where seen_at < clock_timestamp() - $1 * interval '1 millisecond'`, [
      REMOVED_AFTER_MS,
    ])
    const [tooNew] = await ask(
      'select name from schema_migration where breaking and name > $1 collate "C" order by name limit 1',
      [schema],
    )
    if (tooNew?.name !== undefined) becomeOutdated(tooNew.name)
  }

  async function ask(text: string, values: unknown[]): Promise<{ name?: string }[]> {
    const query = { text, values, query_timeout: ANSWER_WITHIN_MS }
    return (await pool.query<{ name?: string }>(query)).rows
  }

  /** One at a time: who is asked while one is under way has said nothing newer than the next. */
  function beat(): Promise<void> {
    beating ??= write()
      .then(
        () => {
          if (silent) log.info('this node stands in the list of nodes again')
          silent = false
        },
        (error: Error) => {
          if (!silent) log.warn({ err: error.message }, 'this node could not say that it lives')
          silent = true
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
      await ask('delete from node where id = $1', [self.id]).catch((error: Error) => {
        log.debug({ err: error.message }, 'this node could not leave the list of nodes; it will be removed')
      })
    },
  }
}
