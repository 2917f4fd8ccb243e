import { readdirSync, readlinkSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RenderOutcome } from '../../src/render/outcome.ts'
import { pick, type Random, seededRandom } from '../chaos/seeded-random.ts'
import { CORPUS } from '../render/corpus.ts'
import {
  type CorpusPage,
  type Expectation,
  folderOf,
  page,
  placePages,
  type Theme,
} from '../render/corpus-page.ts'
import { judge } from '../render/judge.ts'
import { until } from '../support/condition.ts'
import {
  browserProcessesOf,
  listProcesses,
  type ProcessEntry,
  processesOf,
  processTree,
} from '../support/processes.ts'
import { scripted, startTestRenderer, type TestRenderer } from '../support/renderer.ts'
import { type MemorySample, sampleMemory, type Trend, trendOf } from './memory-trend.ts'

export type SoakRun = {
  /** What should not have been; empty when all is well. */
  findings: string[]
  outcomes: Record<string, number>
  kills: Partial<Record<Part, number>>
  /** Renders that a kill has hit and that were whole the second time. */
  retried: number
  /**
   * Came out otherwise although nothing had been killed, and right the second time. Pages that wait for a worker or a
   * stream race with the real time that they are given, and scripts that hog every core run beside them here.
   */
  unsteady: string[]
  samples: MemorySample[]
  trend: Trend
}

const SLOTS = 2
const TIMEOUT_MS = 12_000
const SAMPLE_MS = 2_000
/** What was killed so shortly before a render began may still harm it: another browser has to start. */
const HARM_MS = 5_000
/** More unsteady renders than this are a finding. */
const UNSTEADY_ONE_IN = 1_000
/** A run goes on for so long until something was killed. */
const KILL_WITHIN_MS = 60_000

/**
 * Renders pages of all kinds, two at a time, while processes of the browser are killed at random moments, and looks at
 * what is left. A render that a kill has hit is made once more, as the queue does; all others have to come out as the
 * page is. `flat`: whether memory is judged; a short run says nothing of it.
 */
export async function soakRun(options: {
  renders: number
  seed: number
  /** On average, between two kills. */
  killEveryMs: number
  judgeMemory: boolean
  say(line: string): void
}): Promise<SoakRun> {
  const { renders, seed, killEveryMs, say } = options
  const random = seededRandom(seed)
  const findings: string[] = []
  const outcomes: Record<string, number> = {}
  const kills: SoakRun['kills'] = {}
  const samples: MemorySample[] = []
  const groups = new Set<number>()
  const filesBefore = new Set(openFiles())
  const renderer = await startTestRenderer({ slots: SLOTS, timeoutMs: TIMEOUT_MS })
  const { dataDir } = renderer
  const pages = openSoakPages(renderer)
  let begun = 0
  let retried = 0
  const unsteady: string[] = []
  let lastKillMs = Number.NEGATIVE_INFINITY
  let isOver = false
  /** Renders that are made once more; nothing is killed meanwhile. */
  let truces = 0

  const mayBeHarmed = (sinceMs: number) => lastKillMs >= sinceMs - HARM_MS

  const render = async (page: SoakPage, domain: string): Promise<RenderOutcome> => {
    const startedMs = performance.now()
    const outcome = await renderer.page(page.path, { domain })
    page.usualMs = page.usualMs * 0.7 + (performance.now() - startedMs) * 0.3
    outcomes[outcome.kind] = (outcomes[outcome.kind] ?? 0) + 1
    return outcome
  }
  const renderAndJudge = async () => {
    const { page, domain } = pages.next(random)
    const startedMs = performance.now()
    const failed = await attempt(page, domain)
    if (failed === null) return
    const isHarmed = mayBeHarmed(startedMs)
    if (isHarmed) retried++
    else unsteady.push(failed)
    truces++
    const againMs = performance.now()
    let again = await attempt(page, domain)
    // The last kill may have come just before the truce.
    if (again !== null && mayBeHarmed(againMs)) again = await attempt(page, domain)
    if (again !== null) findings.push(`once more: ${again}`)
    truces--
  }
  const attempt = async (page: SoakPage, domain: string): Promise<string | null> => {
    try {
      pages.judge(page, await render(page, domain))
      return null
    } catch (error) {
      return `${domain}${page.path}: ${(error as Error).message.slice(0, 500)}`
    }
  }
  // A quick machine may be done before the first kill.
  const isLate = endAfter(KILL_WITHIN_MS)
  const wasKilled = () => lastKillMs > Number.NEGATIVE_INFINITY || isLate()
  const renderOn = async () => {
    while (begun < renders || !wasKilled()) {
      begun++
      if (begun % 500 === 0) say(`${begun} renders, ${JSON.stringify(outcomes)}`)
      await renderAndJudge()
      renderer.asked.length = 0
    }
  }
  const killOn = async () => {
    while (!isOver) {
      await delay(killEveryMs * (0.5 + random()))
      if (isOver) return
      if (truces > 0) continue
      for (const { group } of partsOfBrowsers(dataDir, 'browser')) groups.add(group)
      const part = killOnePart(dataDir, random)
      if (part === null) continue
      lastKillMs = performance.now()
      kills[part] = (kills[part] ?? 0) + 1
    }
  }
  const sampleOn = async () => {
    const startedMs = performance.now()
    while (!isOver) {
      const pids = new Set([...processTree(process.pid), ...processesOf(dataDir)].map(({ pid }) => pid))
      samples.push(sampleMemory([...pids], performance.now() - startedMs))
      await delay(SAMPLE_MS)
    }
  }

  try {
    const beside = [killOn(), sampleOn()]
    await Promise.all(Array.from({ length: SLOTS }, renderOn))
    isOver = true
    await Promise.all(beside)
    await until('a browser that is well', () => renderer.healthy, 30_000).catch((error: Error) =>
      findings.push(error.message),
    )
    for (const { group } of partsOfBrowsers(dataDir, 'browser')) groups.add(group)
    await renderer.renderer.close()
    findings.push(...(await leftOf(dataDir, groups)))
  } finally {
    isOver = true
    await renderer.close()
  }
  const filesLeft = () => openFiles().filter((file) => !filesBefore.has(file))
  const left = await until('no open file is left', () => filesLeft().length === 0, 5_000).then(
    () => [],
    filesLeft,
  )
  findings.push(...left.map((file) => `left: open ${file}`))

  if (unsteady.length > Math.max(1, renders / UNSTEADY_ONE_IN))
    findings.push(...unsteady.map((words) => `without a kill: ${words}`))

  const trend = trendOf(samples)
  if (options.judgeMemory && !trend.isFlat)
    findings.push(`memory grew by ${inMiB(trend.growthBytes)} at ${inMiB(trend.levelBytes)}`)
  return { findings, outcomes, kills, retried, unsteady, samples, trend }
}

/** After the renderer was closed: nothing may be there. */
async function leftOf(dataDir: string, groups: ReadonlySet<number>): Promise<string[]> {
  const left = () => {
    const ofDir = new Set(processesOf(dataDir).map(({ pid }) => pid))
    return listProcesses().flatMap(({ pid, command, state, parent, group }) => {
      const isOfBrowser = groups.has(group)
      if (state === 'Z') return isOfBrowser || parent === process.pid ? [`zombie ${pid} of ${parent}`] : []
      return isOfBrowser || ofDir.has(pid) ? [`process ${pid} ${command.slice(0, 120)}`] : []
    })
  }
  // What has no parent any more is asked for by the first process of the machine, when it has time.
  const processes = await until('nothing is left', () => left().length === 0, 5_000).then(() => [], left)
  const profiles = await readdir(path.join(dataDir, 'browsers'))
  return [...processes, ...profiles.map((name) => `profile folder ${name}`)].map((what) => `left: ${what}`)
}

function endAfter(ms: number): () => boolean {
  const endMs = performance.now() + ms
  return () => performance.now() > endMs
}

/** Sockets, pipes and files of this process, each by a name of its own. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      return target.startsWith('/proc/') || target.startsWith('anon_inode:') ? [] : [target]
    } catch {
      return [] // It was the one that read the list.
    }
  })
}

export function inMiB(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`
}

/** What a browser consists of. Any of its processes may be the one that the kernel takes when memory is short. */
export const PARTS = ['page', 'browser', 'zygote', 'gpu', 'network'] as const
export type Part = (typeof PARTS)[number]

const SIGNS: Record<Part, (command: string) => boolean> = {
  page: (command) => command.includes('--type=renderer'),
  browser: (command) => command.includes('--remote-debugging-pipe') && !command.includes('--type='),
  zygote: (command) => command.includes('--type=zygote'),
  gpu: (command) => command.includes('--type=gpu-process'),
  network: (command) => command.includes('network.mojom.NetworkService'),
}

/** Pages die most often, of themselves too; a whole browser now and then. */
const WEIGHTED: readonly Part[] = [
  ...Array<Part>(6).fill('page'),
  'browser',
  'zygote',
  'gpu',
  'network',
  'network',
]

export function partsOfBrowsers(dataDir: string, part: Part): ProcessEntry[] {
  return browserProcessesOf(dataDir).filter(({ command }) => SIGNS[part](command))
}

/** SIGKILL to one process of a part that chance names; null when there was none of it. */
export function killOnePart(dataDir: string, random: Random): Part | null {
  const part = pick(random, WEIGHTED)
  const victims = partsOfBrowsers(dataDir, part)
  if (victims.length === 0) return null
  try {
    process.kill(pick(random, victims).pid, 'SIGKILL')
    return part
  } catch {
    return null // It ended by itself between the look and the shot.
  }
}

/** One page to render and what must come of it. */
export type SoakPage = {
  name: string
  path: string
  expect: Expectation
  /** How long it took so far, for choosing: a page that takes seconds comes seldom. */
  usualMs: number
}

/** Pages that try to leave something behind. */
const HOSTILE: Theme = {
  'soak: workers that never end': {
    why: 'They outlive a script that is done, and take a processor each.',
    document: scripted`for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);']))); show('content')`,
    expect: { reads: ['content'] },
  },
  'soak: storage to the brim': {
    why: 'What one render writes must be gone for the next, and its files too.',
    document: scripted`localStorage.all = 'x'.repeat(4e6); sessionStorage.all = 'y'.repeat(4e6)
        const request = indexedDB.open('soak', 1); request.onupgradeneeded = () => request.result.createObjectStore('s')
        request.onsuccess = () => { request.result.transaction('s', 'readwrite').objectStore('s').put(new Blob(['z'.repeat(1e6)]), 1).onsuccess = () => show('stored') }`,
    expect: { reads: ['stored'] },
  },
  'soak: memory that is held': {
    why: 'A process that serves many pages must not keep what each of them held.',
    document: scripted`window.held = new Uint8Array(6e7).fill(1); for (let n = 0; n < 5000; n++) show('row ' + n)`,
    expect: { reads: ['row 4999'] },
  },
  'soak: sixty frames': {
    why: 'Each is a document with scripts of ours.',
    document: page`${'<iframe srcdoc="<p>inner</p><script>setInterval(() => {}, 10)</script>"></iframe>'.repeat(60)}<p>outer</p>`,
    expect: { reads: ['outer'] },
  },
}

/** What one site in three shows: bytes that stay the same, on a domain of their own. */
const DOMAINS = 6
const FIRST_GUESS_MS = 120

export type SoakPages = {
  /** The page and the domain it is asked at. */
  next(random: Random): { page: SoakPage; domain: string }
  /** Throws when the outcome is not what the page is. */
  judge(page: SoakPage, outcome: Parameters<typeof judge>[0]): void
}

/** The corpus and some worse pages as one site, at several domains. `visits` pages have their own tests. */
export function openSoakPages(renderer: TestRenderer): SoakPages {
  const placed = [...Object.values(CORPUS), HOSTILE]
    .flatMap(Object.entries<CorpusPage>)
    .filter(([, { visits }]) => visits === undefined)
  placePages(placed, renderer.routes, renderer.origin)
  const pages = placed.map(
    ([name, { at = '', expect }]): SoakPage => ({
      name,
      path: folderOf(name) + at,
      expect,
      usualMs: FIRST_GUESS_MS,
    }),
  )

  return {
    next(random) {
      const weights = pages.map(({ usualMs }) => 1 / usualMs)
      let at = random() * weights.reduce((sum, weight) => sum + weight, 0)
      const chosen = pages.find((_, index) => {
        at -= weights[index]!
        return at <= 0
      })
      const domain = `soak-${1 + Math.floor(random() * DOMAINS)}.example`
      return { page: chosen ?? pick(random, pages), domain }
    },
    judge: ({ expect }, outcome) => judge(outcome, expect),
  }
}
