import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import type { Log } from '../../log.ts'
import { browserUser, reachableDir } from '../../system-user.ts'
import { canHide, viewOf } from '../tab/own-view.ts'
import type { BrowserBinary } from './browser-binary.ts'
import { browserFlags } from './browser-flags.ts'
import {
  type BrowserParts,
  type ContextWorkers,
  followContextWorkers,
  type MemoryWatch,
  stillAnswers,
  watchMemory,
  watchParts,
} from './browser-watch.ts'
import { type CdpConnection, connectCdp } from './cdp.ts'
import { confined } from './confinement.ts'
import {
  hasSystemCallFilter,
  killGroup,
  memoryOfGroupBytes,
  processesOfGroup,
  processorMsOf,
} from './process-group.ts'

/** `on`: Chromium's own sandbox holds its pages. `off`: it cannot work here, pages run without it. */
export type Sandbox = 'on' | 'off'

export type BrowserProcess = {
  readonly cdp: CdpConnection
  /** Also the id of its process group. */
  readonly pid: number
  readonly sandbox: Sandbox
  /** Whether what breaks out of it could read the data directory: it is no user of its own, and nothing hides it. */
  readonly data: 'closed' | 'open'
  /** As the browser calls itself, `HeadlessChrome/153.0.8010.0`. */
  readonly product: string
  readonly userAgent: string
  /** What renders say of themselves at the end of their user agent, see `identityOf`. */
  readonly identity: string
  /** Ends its pages one by one when they take too much. */
  readonly memory: Pick<MemoryWatch, 'hasEnded'>
  /** Killed when its network process is lost. */
  readonly parts: Pick<BrowserParts, 'hasNetwork' | 'canOpenPages'>
  readonly contextWorkers: ContextWorkers
  /** Resolves with the reason as soon as it is known to be dead or dying: nothing more can be asked of it. */
  readonly ended: Promise<string>
  /** Resolves with the reason when every process is gone and its directory is removed. */
  readonly gone: Promise<string>
  /** Whether it still answers: within two seconds, or within ten if it is at work. */
  answers(): Promise<boolean>
  /** Of the whole group. */
  memoryBytes(): number
  /** Kills the whole group; resolves as `gone` does. */
  kill(why: string): Promise<string>
}

export type LaunchOptions = {
  binary: BrowserBinary
  dataDir: string
  spkiHash: string | null
  /** Of one page's process. */
  pageMemoryBytes: number
  /** Absent: the bare name, for a browser that visits no site. */
  identity?: string
  /** Refuse to start where Chromium's sandbox cannot work, instead of going without. */
  requireSandbox: boolean
  /** See `browserFlags`. */
  drawsPages?: boolean
  log: Log
}

/** The browser did not start; the message holds its last words. */
export class BrowserStartError extends Error {
  override name = 'BrowserStartError'
}

const START_LIMIT_MS = 30_000
const LAST_WORDS_CHARS = 4_000

const SANDBOX_REMEDY =
  'Chromium needs unprivileged user namespaces for it (sysctl kernel.unprivileged_userns_clone=1; ' +
  'on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker a seccomp profile that allows them, ' +
  'see "Sandbox" in README.md)'

const DATA_WARNING =
  'A page that breaks out of Chromium could read the data directory: start the node as root, ' +
  'or allow what hides it (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)'

/** Starts a browser with its sandbox; without it only where that is allowed and nothing else works. */
export async function launchBrowser(options: LaunchOptions): Promise<BrowserProcess> {
  try {
    return await launch(options, 'on')
  } catch (error) {
    if (!(error instanceof BrowserStartError) || !/sandbox|namespace/i.test(error.message)) throw error
    if (options.requireSandbox) {
      throw new BrowserStartError(
        `Chromium's sandbox cannot work here and PREPAINT_REQUIRE_SANDBOX=1 asks for it. ${SANDBOX_REMEDY}. ${error.message}`,
      )
    }
    options.log.warn(
      'Chromium runs without its sandbox here: all right for your own sites; before you take sites of strangers: apt-get install chromium-headless-shell, and see "Sandbox" in README.md',
    )
    return await launch(options, 'off')
  }
}

async function launch(options: LaunchOptions, sandbox: Sandbox): Promise<BrowserProcess> {
  const { binary, dataDir, spkiHash } = options
  const user = browserUser()
  const home = reachableDir(dataDir, 'browsers', user)
  await removeAbandoned(home)
  const userDataDir = await mkdtemp(path.join(home, `${process.pid}-`))
  if (user !== null) await chown(userDataDir, user.uid, user.gid)

  const flags = browserFlags({
    userDataDir,
    sandbox: sandbox === 'on',
    network: { spkiHash },
    drawsPages: options.drawsPages === true,
  })
  const view = sandbox === 'off' && user === null ? viewOf(dataDir, binary.executable, home) : null
  const isHidden = view !== null && canHide(view)
  if (view !== null && !isHidden) options.log.warn(DATA_WARNING)
  const { file, args } = confined(binary.executable, flags, sandbox, isHidden ? view : null)
  const child = spawn(file, args, {
    // Descriptors 3 and 4 are the protocol. When we die, their end makes Chromium exit, and its children with it.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    // A group of its own: it can be killed whole, and Ctrl-C on our terminal does not reach it.
    detached: true,
    cwd: '/',
    env: environment(binary, userDataDir),
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  })
  const lastWords = collectLastWords(child)
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (status, signal) => resolve(`exited (${signal ?? `status ${status}`})`))
  })
  const cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)

  const memory = watchMemory(child.pid ?? 0, options.pageMemoryBytes)
  const { promise: killed, resolve: tellKilled } = Promise.withResolvers<string>()
  const ended = Promise.race([killed, exited, cdp.closed])
  const gone = ended.then(async (why) => {
    memory.stop()
    if (child.pid !== undefined) killGroup(child.pid)
    await exited
    // What is being killed may still write for a moment. What stays is removed at the next start.
    await rm(userDataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }).catch(
      (error: Error) =>
        options.log.warn({ err: error }, 'the folder of a browser that has ended could not be removed'),
    )
    return why
  })
  const kill = (why: string) => {
    tellKilled(why)
    return gone
  }

  const tooLate = setTimeout(() => void kill(`no answer in ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS)
  try {
    const { product, userAgent } = await cdp.browser.send('Browser.getVersion')
    const contextWorkers = await followContextWorkers(cdp.browser)
    const pid = child.pid as number
    if (sandbox === 'on' && !(await pagesAreSandboxed(pid))) throw new Error('a page runs without a sandbox')
    const parts = watchParts(pid, () => void kill('its network process has ended'))
    void ended.then(parts.stop)
    return {
      cdp,
      pid,
      sandbox,
      data: user !== null || sandbox === 'on' || isHidden ? 'closed' : 'open',
      product,
      userAgent,
      identity: options.identity ?? 'Prepaint',
      memory,
      parts,
      contextWorkers,
      ended,
      gone,
      answers: () =>
        stillAnswers({
          answer: cdp.browser.send('Browser.getVersion'),
          processorMs: () => processorMsOf(pid),
        }),
      memoryBytes: () => memoryOfGroupBytes(pid),
      kill,
    }
  } catch (error) {
    const why = await kill((error as Error).message)
    throw new BrowserStartError(`${binary.executable} ${why}. ${lastWords()}`.trim(), { cause: error })
  } finally {
    clearTimeout(tooLate)
  }
}

/**
 * Believes the kernel, not the flags: the process of the browser's first page
 * must have its system calls filtered. It gets there some milliseconds after its start.
 */
async function pagesAreSandboxed(groupId: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  for (let look = 0; look < 200; look++) {
    const pages = processesOfGroup(groupId).filter(({ commandLine }) =>
      commandLine.includes('--type=renderer'),
    )
    if (pages.length > 0 && pages.every(({ pid }) => hasSystemCallFilter(pid))) return true
    await delay(10)
  }
  return false
}

/** Nothing of ours: our environment holds secrets, and its locale and proxies would change renders. */
function environment(binary: BrowserBinary, userDataDir: string): Record<string, string> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: userDataDir,
    TMPDIR: userDataDir,
    XDG_CACHE_HOME: userDataDir,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    ...(binary.libraryDir === null ? {} : { LD_LIBRARY_PATH: binary.libraryDir }),
    ...(binary.fontsDir === null ? {} : { FONTCONFIG_PATH: binary.fontsDir }),
  }
}

function collectLastWords(child: ChildProcess): () => string {
  let words = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (text: string) => {
    words = (words + text).slice(-LAST_WORDS_CHARS)
  })
  return () => words.trim()
}

/** Directories of browsers whose node was killed before it could remove them. */
async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const owner = /^(\d+)-/.exec(name)?.[1]
    if (owner === undefined || existsSync(`/proc/${owner}`) || process.platform !== 'linux') continue
    await rm(path.join(home, name), { recursive: true, force: true })
  }
}
