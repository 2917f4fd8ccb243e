import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { OwnedDomain } from '../src/accounts/domains.ts'
import type { DomainId } from '../src/ids.ts'
import { type Progress, readProgress } from '../src/queue/progress.ts'
import type { Result, Surroundings } from './command.ts'
import { progressBar } from './terminal.ts'

const LOOK_EVERY_MS = 200
/** So often (15 s) without any movement: nobody works on the queue. */
const STILL_LOOKS = 75

/**
 * What a command says after it has queued jobs. At a terminal, and with
 * `--wait`, it first watches them until none is open, with a bar for people.
 */
export async function tellQueued(
  { pool, around }: { pool: pg.Pool; around: Surroundings },
  queued: { domain: OwnedDomain; since: Date; wait: boolean; words: string; json: Record<string, unknown> },
): Promise<Result> {
  const { domain, since, wait, words, json } = queued
  const bar = process.stderr.isTTY === true && !around.json
  if (!wait && !bar) return { json, text: words }

  around.say(`${words} Ctrl-C ends the watching, not the work.`)
  const { ended, stalled } = await watch(pool, domain.id, { since, bar })
  if (stalled) around.say('Nothing moves: is a node with the role "render" running?')
  return {
    json: { ...json, ended, stalled },
    text: `${ended} jobs have ended; "prepaint jobs --domain ${domain.name}" lists them.`,
    exitCode: stalled ? 1 : 0,
  }
}

async function watch(
  pool: pg.Pool,
  domain: DomainId,
  { since, bar }: { since: Date; bar: boolean },
): Promise<{ ended: number; stalled: boolean }> {
  const drawn = bar ? progressBar() : null
  try {
    let [last, still] = ['', 0]
    for (;;) {
      const progress = await readProgress(pool, domain, since)
      const { queued, running, ended } = progress
      drawn?.update(ended, ended + queued + running)
      if (isOver(progress)) return { ended, stalled: false }
      const now = JSON.stringify(progress)
      still = now === last && running === 0 ? still + 1 : 0
      last = now
      if (still > STILL_LOOKS) return { ended, stalled: true }
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    drawn?.end()
  }
}

function isOver({ queued, running, warming }: Progress): boolean {
  return queued + running === 0 && !warming
}
