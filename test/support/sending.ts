import type { Listener } from '@prepaint/postgres/listener.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import { Sender, type SenderParts } from '@prepaint/service/notifications/delivery/sender.ts'

/** Sends deliveries as a node does. */
export function startSending(listener: Listener, parts: SenderParts): { close(): Promise<void> } {
  const sender = new Sender(parts)
  const tasks = new TaskRunner(parts.pool, listener, parts.log, { pollMs: 1_000 })
  for (const kind of sender.kinds) tasks.add(kind)
  tasks.start()
  return {
    async close() {
      await tasks.close()
      sender.close()
    },
  }
}
