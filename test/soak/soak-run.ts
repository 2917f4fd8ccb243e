import { readdirSync, readlinkSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pick, type Random, seededRandom } from '../chaos/seeded-random.ts'
import { HOSTILE } from '../chaos/version-origin.ts'
import { CORPUS } from '../render/corpus.ts'
import { type CorpusPage, folderOf, placePages, type Theme } from '../render/corpus-page.ts'
import { judge } from '../render/judge.ts'
import { until } from '../support/condition.ts'
import { browserProcessesOf, isBrowser, listProcesses, processesOf } from '../support/processes.ts'
import { scripted, startTestRenderer, type TestRenderer } from '../support/renderer.ts'

const SLOTS = 2
const TIMEOUT_MS = 12_000
/** What was killed so shortly before a render began may still harm it. */
const HARM_MS = 5_000
/** More unsteady renders than this are a finding. */
const UNSTEADY_ONE_IN = 1_000
/** A run goes on for so long until something was killed: a quick machine may be done before the first kill. */
const KILL_WITHIN_MS = 60_000
const DOMAINS = 6

/**
 * Renders pages of all kinds, two at a time, while processes of the browser are killed at random moments. A render that
 * a kill has hit is made once more, as the queue does. `begun`: is told where the browsers are.
 */
export async function soakRun(options: {
  renders: number
  seed: number
  killEveryMs: number
  begun?(dataDir: string): void
  say(line: string): void
}) {
  const { renders, seed, killEveryMs, say } = options
  const random = seededRandom(seed)
  const findings: string[] = []
  const outcomes: Record<string, number> = {}
  const kills: Record<string, number> = {}
  const groups = new Set<number>()
  const filesBefore = new Set(openFiles())
  const renderer = await startTestRenderer({ slots: SLOTS, timeoutMs: TIMEOUT_MS })
  const { dataDir } = renderer
  const nextPage = openSoakPages(renderer)
  options.begun?.(dataDir)
  const startedMs = performance.now()
  let begun = 0
  let retried = 0
  /** Wrong without a kill, and right the second time: pages that wait for workers or streams race with real time. */
  const unsteady: string[] = []
  let lastKillMs = Number.NEGATIVE_INFINITY
  let isOver = false
  /** Renders that are made once more; nothing is killed meanwhile. */
  let truces = 0

  const mayBeHarmed = (sinceMs: number) => lastKillMs >= sinceMs - HARM_MS

  const attempt = async (page: SoakPage, domain: string): Promise<string | null> => {
    const begunMs = performance.now()
    const outcome = await renderer.page(page.path, { domain })
    page.usualMs = page.usualMs * 0.7 + (performance.now() - begunMs) * 0.3
    outcomes[outcome.kind] = (outcomes[outcome.kind] ?? 0) + 1
    try {
      judge(outcome, page.expect)
      return null
    } catch (error) {
      return `${domain}${page.path}: ${(error as Error).message.slice(0, 500)}`
    }
  }
  const renderAndJudge = async () => {
    const page = nextPage(random)
    const domain = `soak-${1 + Math.floor(random() * DOMAINS)}.example`
    const begunMs = performance.now()
    const failed = await attempt(page, domain)
    if (failed === null) return
    if (mayBeHarmed(begunMs)) retried++
    else unsteady.push(failed)
    truces++
    const againMs = performance.now()
    let again = await attempt(page, domain)
    // The last kill may have come just before the truce.
    if (again !== null && mayBeHarmed(againMs)) again = await attempt(page, domain)
    if (again !== null) findings.push(`once more: ${again}`)
    truces--
  }
  const wasKilled = () =>
    lastKillMs > Number.NEGATIVE_INFINITY || performance.now() > startedMs + KILL_WITHIN_MS
  const renderOn = async () => {
    while (begun < renders || !wasKilled()) {
      begun++
      if (begun % 500 === 0) say(`${begun} renders, ${JSON.stringify(outcomes)}`)
      await renderAndJudge()
      renderer.asked.length = 0
    }
  }
  const noteGroups = () => {
    for (const { group } of browserProcessesOf(dataDir).filter(isBrowser)) groups.add(group)
  }
  const killOn = async () => {
    while (!isOver) {
      await delay(killEveryMs * (0.5 + random()))
      if (isOver) return
      if (truces > 0) continue
      noteGroups()
      const kind = killOne(dataDir, random)
      if (kind === null) continue
      lastKillMs = performance.now()
      kills[kind] = (kills[kind] ?? 0) + 1
    }
  }

  try {
    const killing = killOn()
    await Promise.all(Array.from({ length: SLOTS }, renderOn))
    isOver = true
    await killing
    await until('a browser that is well', () => renderer.healthy, 30_000).catch((error: Error) =>
      findings.push(error.message),
    )
    noteGroups()
    await renderer.renderer.close()
    findings.push(...(await leftOf(dataDir, groups)))
  } finally {
    isOver = true
    await renderer.close()
  }
  const filesLeft = () => openFiles().flatMap((file) => (filesBefore.has(file) ? [] : [`left: open ${file}`]))
  findings.push(...(await stillThere(filesLeft)))

  if (unsteady.length > Math.max(1, renders / UNSTEADY_ONE_IN))
    findings.push(...unsteady.map((words) => `without a kill: ${words}`))

  return { findings, outcomes, kills, retried, unsteady }
}

/** What is there after some time: processes without a parent are waited for by the first one of the machine. */
async function stillThere(left: () => string[]): Promise<string[]> {
  return until('nothing is left', () => left().length === 0, 5_000).then(() => [], left)
}

/** After the renderer was closed: nothing may be there. */
async function leftOf(dataDir: string, groups: ReadonlySet<number>): Promise<string[]> {
  const processes = await stillThere(() => {
    const ofDir = new Set(processesOf(dataDir).map(({ pid }) => pid))
    return listProcesses().flatMap(({ pid, command, state, parent, group }) => {
      const isOfBrowser = groups.has(group)
      if (state === 'Z')
        return isOfBrowser || parent === process.pid ? [`left: zombie ${pid} of ${parent}`] : []
      return isOfBrowser || ofDir.has(pid) ? [`left: process ${pid} ${command.slice(0, 120)}`] : []
    })
  })
  const profiles = await readdir(path.join(dataDir, 'browsers'))
  return [...processes, ...profiles.map((name) => `left: profile folder ${name}`)]
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

/** What marks a process of each kind. Pages die most often, of themselves too; a whole browser now and then. */
const MARKS: readonly string[] = [
  ...Array<string>(6).fill('--type=renderer'),
  ...['browser', '--type=zygote', '--type=gpu-process'],
  ...Array<string>(2).fill('network.mojom.NetworkService'),
]

/** SIGKILL to one process of a kind that chance names, as when memory is short; null when there was none of it. */
function killOne(dataDir: string, random: Random): string | null {
  const mark = pick(random, MARKS)
  const victims = browserProcessesOf(dataDir).filter((each) =>
    mark === 'browser' ? isBrowser(each) : each.command.includes(mark),
  )
  if (victims.length === 0) return null
  try {
    process.kill(pick(random, victims).pid, 'SIGKILL')
    return mark
  } catch {
    return null // It ended by itself between the look and the shot.
  }
}

const HOSTILE_PAGES: Theme = Object.fromEntries(
  Object.entries(HOSTILE).map(([path, script]) => [
    `soak: ${path}`,
    {
      why: 'It tries to leave something behind.',
      document: scripted(`${script}; show('content')`),
      expect: { reads: ['content'] },
    },
  ]),
)

/** `usualMs`: how long it took so far, for choosing: a page that takes seconds comes seldom. */
type SoakPage = { path: string; expect: CorpusPage['expect']; usualMs: number }

/** The corpus and some worse pages as one site; returns which is next. `visits` pages have their own tests. */
function openSoakPages(renderer: TestRenderer): (random: Random) => SoakPage {
  const placed = [...Object.values(CORPUS), HOSTILE_PAGES]
    .flatMap(Object.entries<CorpusPage>)
    .filter(([, { visits }]) => visits === undefined)
  placePages(placed, renderer.routes, renderer.origin)
  const pages = placed.map(
    ([name, { at = '', expect }]): SoakPage => ({ path: folderOf(name) + at, expect, usualMs: 120 }),
  )
  return (random) => {
    let at = random() * pages.reduce((sum, { usualMs }) => sum + 1 / usualMs, 0)
    const chosen = pages.find(({ usualMs }) => {
      at -= 1 / usualMs
      return at <= 0
    })
    return chosen ?? pick(random, pages)
  }
}
