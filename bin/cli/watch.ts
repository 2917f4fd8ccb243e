import { setTimeout as sleep } from 'node:timers/promises'
import { readProgress } from '@prepaint/pages/queue/jobs/list-jobs.ts'
import { readWarm, type WarmProgress } from '@prepaint/pages/queue/warm/warm-progress.ts'
import type { OwnedDomain } from '@prepaint/service/sites/domains.ts'
import type pg from 'pg'
import type { Result, Surroundings } from '../command-line/command.ts'
import { progressBar, progressLine } from '../command-line/output.ts'

const POLL_MS = 200
/** 15 s without progress. */
const STALLED_POLLS = 75
const STALLED = 'No progress: is a node with the role "render" running?'

type Target = { domain: OwnedDomain; since: Date; wait: boolean }
type State<Value> = { value: Value; progress: unknown; isOver: boolean; isRunning: boolean }

/** Reads the state until it is over, or unchanged for 15 s while no job runs. */
async function poll<Value>(
  read: () => Promise<State<Value>>,
  show: ((value: Value) => void) | null,
): Promise<{ value: Value; stalled: boolean }> {
  let [last, unchanged] = ['', 0]
  for (;;) {
    const { value, progress, isOver, isRunning } = await read()
    show?.(value)
    if (isOver) return { value, stalled: false }
    const now = JSON.stringify(progress)
    unchanged = now === last && !isRunning ? unchanged + 1 : 0
    last = now
    if (unchanged > STALLED_POLLS) return { value, stalled: true }
    await sleep(POLL_MS)
  }
}

/** At a terminal and with `--wait`, first waits until all queued jobs have ended. */
export async function reportQueued(
  { pool, around }: { pool: pg.Pool; around: Surroundings },
  { domain, since, wait, words, json }: Target & { words: string; json: Record<string, unknown> },
): Promise<Result> {
  const isTerminal = process.stderr.isTTY === true && !around.json
  if (!wait && !isTerminal) return { json, text: words }
  around.say(`${words} Ctrl-C stops waiting; the work continues.`)
  const line = isTerminal ? progressLine() : null
  const { value, stalled } = await poll(
    async () => {
      const progress = await readProgress(pool, domain.id, since)
      const { queued, running, warming } = progress
      const isOver = queued + running === 0 && !warming
      return { value: progress, progress, isOver, isRunning: running > 0 }
    },
    line && (({ queued, running, ended }) => line.update(progressBar(ended, ended + queued + running))),
  ).finally(() => line?.end())
  if (stalled) around.say(STALLED)
  const { ended } = value
  return {
    json: { ...json, ended, stalled },
    text: `${ended} jobs have ended; "prepaint jobs --domain ${domain.name}" lists them.`,
    exitCode: stalled ? 1 : 0,
  }
}

/** At a terminal and with `wait`, first waits until the warm ends or is paused. */
export async function watchWarm(
  { pool, around }: { pool: pg.Pool; around: Surroundings },
  { domain, since, wait }: Target,
): Promise<Result> {
  const { name } = domain
  const isTerminal = process.stderr.isTTY === true && !around.json
  const words = `Known paths of ${name} will be rendered.`
  if (!wait && !isTerminal) return { json: { domain: name }, text: words }
  around.say(`${words} Ctrl-C stops waiting; the work continues.`)
  const line = isTerminal ? progressLine() : null
  const { value, stalled } = await poll(
    async () => {
      const warm = await readWarm(pool, domain.id)
      const { ended, running } = await readProgress(pool, domain.id, since)
      const progress = [warm?.state, warm?.sitemaps, warm?.done, warm?.failed, warm?.left]
      const isOver = warm === null || isWarmOver(warm)
      return { value: { warm, ended }, progress, isOver, isRunning: running > 0 }
    },
    line && (({ warm }) => line.update(warm === null ? '' : warmText(warm))),
  ).finally(() => line?.end())
  const { warm, ended } = value
  if (warm === null) return { json: { domain: name, warm }, text: `${name} is gone.`, exitCode: 1 }
  if (stalled) around.say(STALLED)
  const exitCode = !stalled && warm.state === 'done' ? 0 : 1
  return { json: { domain: name, warm, ended, stalled }, text: warmText(warm), exitCode }
}

function isWarmOver({ state, paused_at: pausedAt }: WarmProgress): boolean {
  return pausedAt !== null || !['reading', 'queueing', 'rendering'].includes(state)
}

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
  if (warm.redirected > 0) parts.push(`${warm.redirected} skipped: redirected`)
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
