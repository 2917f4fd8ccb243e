/** A process that floods. It gets its task as a message, and tells how much it has sent when it has ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKS, type AttackName, type Target } from './attacks.ts'

export type AttackTask = { attack: AttackName; target: Target; seconds: number }
export type AttackEnd = { sent: number }

process.on('message', async ({ attack, target, seconds }: AttackTask) => {
  const stop = new AbortController()
  const flooding = ATTACKS[attack](target, stop.signal)
  await sleep(seconds * 1_000)
  stop.abort()
  process.send!({ sent: await flooding } satisfies AttackEnd)
})
