import type { Listener } from '@prepaint/postgres/listener.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import { silentLog } from '@prepaint/runtime/log.ts'
import type { Sender } from '@prepaint/service/notifications/delivery/sender.ts'
import type pg from 'pg'

/** Sends deliveries as a node does. */
export function startSending(pool: pg.Pool, listener: Listener, sender: Sender): { close(): Promise<void> } {
  const tasks = new TaskRunner(pool, listener, silentLog(), { pollMs: 1_000 })
  for (const kind of sender.kinds) tasks.add(kind)
  tasks.start()
  return {
    async close() {
      await tasks.close()
      sender.close()
    },
  }
}
