import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { DomainId } from '../../src/ids.ts'
import { type Progress, readProgress } from '../../src/queue/jobs/list-jobs.ts'
import { readWarm, type WarmProgress } from '../../src/queue/warm/warm-progress.ts'
import type { OwnedDomain } from '../../src/sites/domains.ts'
import type { Result, Surroundings } from '../command-line/command.ts'
import { progressBar, progressLine } from '../command-line/output.ts'

const POLL_MS = 200
/** 15 s without any progress. */
const STALLED_POLLS = 75

/** The result of a command that queued jobs. At a terminal, and with `--wait`, it first waits until all have ended. */
export async function reportQueued(
  { pool, around }: { pool: pg.Pool; around: Surroundings },
  queued: { domain: OwnedDomain; since: Date; wait: boolean; words: string; json: Record<string, unknown> },
): Promise<Result> {
  const { domain, since, wait, words, json } = queued
  const bar = process.stderr.isTTY === true && !around.json
  if (!wait && !bar) return { json, text: words }

  around.say(`${words} Ctrl-C stops waiting; the work continues.`)
  const { ended, stalled } = await watch(pool, domain.id, { since, bar })
  if (stalled) around.say('No progress: is a node with the role "render" running?')
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
    let [last, polls] = ['', 0]
    for (;;) {
      const progress = await readProgress(pool, domain, since)
      const { queued, running, ended } = progress
      drawn?.update(ended, ended + queued + running)
      if (isOver(progress)) return { ended, stalled: false }
      const now = JSON.stringify(progress)
      polls = now === last && running === 0 ? polls + 1 : 0
      last = now
      if (polls > STALLED_POLLS) return { ended, stalled: true }
      await sleep(POLL_MS)
    }
  } finally {
    drawn?.end()
  }
}

function isOver({ queued, running, warming }: Progress): boolean {
  return queued + running === 0 && !warming
}

/** The result of a command that started a warm. At a terminal, and with `wait`, it first waits until it ends or is paused. */
export async function watchWarm(
  { pool, around }: { pool: pg.Pool; around: Surroundings },
  { domain, since, wait }: { domain: OwnedDomain; since: Date; wait: boolean },
): Promise<Result> {
  const { name } = domain
  const isTerminal = process.stderr.isTTY === true && !around.json
  const words = `Known paths of ${name} will be rendered.`
  if (!wait && !isTerminal) return { json: { domain: name }, text: words }

  around.say(`${words} Ctrl-C stops waiting; the work continues.`)
  const line = isTerminal ? progressLine() : null
  try {
    let [last, polls] = ['', 0]
    for (;;) {
      const warm = await readWarm(pool, domain.id)
      // The domain was removed.
      if (warm === null) return { json: { domain: name, warm }, text: `${name} is gone.`, exitCode: 1 }
      line?.update(warmText(warm))
      const { ended, running } = await readProgress(pool, domain.id, since)
      if (isWarmOver(warm)) {
        const exitCode = warm.state === 'done' ? 0 : 1
        return { json: { domain: name, warm, ended, stalled: false }, text: warmText(warm), exitCode }
      }
      const now = JSON.stringify([warm.state, warm.sitemaps, warm.done, warm.failed, warm.left])
      polls = now === last && running === 0 ? polls + 1 : 0
      last = now
      if (polls > STALLED_POLLS) {
        around.say('No progress: is a node with the role "render" running?')
        return { json: { domain: name, warm, ended, stalled: true }, text: warmText(warm), exitCode: 1 }
      }
      await sleep(POLL_MS)
    }
  } finally {
    line?.end()
  }
}

function isWarmOver({ state, paused_at: pausedAt }: WarmProgress): boolean {
  return pausedAt !== null || !['reading', 'queueing', 'rendering'].includes(state)
}

/** The progress of a warm in one line. */
export function warmText(warm: WarmProgress): string {
  const { state, known, done, unchanged, failed, left, sitemaps } = warm
  if (state === 'failed') return `Failed: ${warm.reason ?? ''}`
  if (state === 'reading') {
    return `${pausedPrefix(warm)}Reading sitemaps: ${sitemaps.read} read, ${sitemaps.left} left`
  }
  const parts = [`${done} of ${known} pages done`]
  if (unchanged > 0) parts.push(`${unchanged} of them unchanged`)
  if (failed > 0) parts.push(`${failed} failed`)
  if (warm.forbidden > 0) parts.push(`${warm.forbidden} not allowed by robots.txt`)
  if (warm.passed > 0) parts.push(`${warm.passed} always passed to the origin`)
  if (warm.fresh > 0) parts.push(`${warm.fresh} still fresh`)
  if (sitemaps.failed > 0) parts.push(`${sitemaps.failed} sitemaps could not be read`)
  if (state === 'done' || state === 'cancelled') {
    const why = warm.reason === null ? '' : ` (${warm.reason})`
    return `${state === 'done' ? 'Done' : `Cancelled${why}`}: ${parts.join(', ')}`
  }
  if (left !== null) parts.push(`${left} left`)
  if (warm.pages_per_second !== null) parts.push(`${warm.pages_per_second} pages/s`)
  if (warm.seconds_left !== null) parts.push(`${duration(warm.seconds_left)} to go`)
  return `${pausedPrefix(warm)}${parts.join(', ')}`
}

function pausedPrefix({ paused_at: pausedAt, reason }: WarmProgress): string {
  if (pausedAt === null) return ''
  return reason === 'over-quota' ? 'Paused, the monthly renders are used up: ' : 'Paused: '
}

function duration(seconds: number): string {
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}
