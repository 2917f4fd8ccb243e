import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { OwnedDomain } from '../src/accounts/domains.ts'
import { readProgress } from '../src/queue/progress.ts'
import { readWarm, type WarmProgress } from '../src/queue/warm-progress.ts'
import type { Result, Surroundings } from './command.ts'
import { progressLine } from './terminal.ts'
import { warmText } from './warm-text.ts'

const LOOK_EVERY_MS = 200
/** So often (15 s) without any movement: nobody works on it. */
const STILL_LOOKS = 75

/**
 * What a command says after it has set a warm going. At a terminal, and with
 * `wait`, it first watches it until it is over or paused, with a line for people.
 */
export async function watchWarm(
  { pool, around }: { pool: pg.Pool; around: Surroundings },
  { domain, since, wait }: { domain: OwnedDomain; since: Date; wait: boolean },
): Promise<Result> {
  const { name } = domain
  const isSeen = process.stderr.isTTY === true && !around.json
  const words = `Known paths of ${name} will be rendered.`
  if (!wait && !isSeen) return { json: { domain: name }, text: words }

  around.say(`${words} Ctrl-C ends the watching, not the work.`)
  const line = isSeen ? progressLine() : null
  try {
    let [last, still] = ['', 0]
    for (;;) {
      const warm = await readWarm(pool, domain.id)
      // The domain was removed.
      if (warm === null) return { json: { domain: name, warm }, text: `${name} is gone.`, exitCode: 1 }
      line?.update(warmText(warm))
      const { ended, running } = await readProgress(pool, domain.id, since)
      if (isOver(warm)) {
        const exitCode = warm.state === 'done' ? 0 : 1
        return { json: { domain: name, warm, ended, stalled: false }, text: warmText(warm), exitCode }
      }
      const now = JSON.stringify([warm.state, warm.sitemaps, warm.done, warm.failed, warm.left])
      still = now === last && running === 0 ? still + 1 : 0
      last = now
      if (still > STILL_LOOKS) {
        around.say('Nothing moves: is a node with the role "render" running?')
        return { json: { domain: name, warm, ended, stalled: true }, text: warmText(warm), exitCode: 1 }
      }
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    line?.end()
  }
}

function isOver({ state, paused_at: pausedAt }: WarmProgress): boolean {
  return pausedAt !== null || !['reading', 'queueing', 'rendering'].includes(state)
}
