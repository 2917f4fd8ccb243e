import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import type { Log } from '@prepaint/runtime/log.ts'
import { browserUser, reachableDir } from '@prepaint/runtime/system-user.ts'
import { type ContextWorkers, followContextWorkers } from '../tab/workers.ts'
import type { BrowserBinary } from './browser-binary.ts'
import { browserFlags } from './browser-flags.ts'
import { BrowserParts, type MemoryWatch, stillAnswers, watchBusyPages, watchMemory } from './browser-watch.ts'
import { type CdpConnection, connectCdp } from './cdp.ts'
import { canHideFiles, confined, LOWER_PRIORITY, viewOf } from './confinement.ts'
import {
  hasSystemCallFilter,
  killGroup,
  mainProcessOf,
  memoryOfGroupBytes,
  processesOfGroup,
  processorMsOf,
  untilGroupIsGone,
} from './process-group.ts'

/** `on`: Chromium's own sandbox is active. `off`: it cannot work on this machine. */
export type Sandbox = 'on' | 'off'

/** `open`: code that breaks out of the browser could read the data directory. */
export type DataAccess = 'closed' | 'open'

export type BrowserProcess = {
  readonly cdp: CdpConnection
  readonly pid: number
  /** Chromium itself, if `pid` is a script that started it. */
  readonly mainPid: number
  readonly sandbox: Sandbox
  readonly data: DataAccess
  readonly product: string
  readonly userAgent: string
  readonly identity: string
  readonly memory: Pick<MemoryWatch, 'hasKilled'>
  readonly parts: Pick<BrowserParts, 'hasNetwork' | 'canOpenPages'>
  readonly contextWorkers: ContextWorkers
  /** Resolves with the reason when the browser is dead or dying. */
  readonly ended: Promise<string>
  /** Resolves with the reason when every process is gone and the directory is removed. */
  readonly gone: Promise<string>
  /** Resolves with whether it answers within two seconds, or within ten if it is busy. */
  answers(): Promise<boolean>
  /**
   * Gives it a tenth of the cores beside any other session that needs them, where the kernel shares them between
   * sessions: there its own low priority (see `confined`) only counts inside its session. No effect elsewhere.
   */
  yieldCores(isYielding: boolean): void
  memoryBytes(): Promise<number>
  kill(why: string): Promise<string>
}

export type LaunchOptions = {
  binary: BrowserBinary
  dataDir: string
  spkiHash: string | null
  pageMemoryBytes: number
  /** Absent: the bare product name, for a browser that visits no site. */
  identity?: string | undefined
  /** Refuse to start if Chromium's sandbox cannot work. */
  requireSandbox: boolean
  drawsPages?: boolean
  log: Log
}

/** The message holds the browser's last output. */
export class BrowserStartError extends Error {
  override name = 'BrowserStartError'
}

const START_LIMIT_MS = 30_000
const LAST_OUTPUT_CHARS = 4_000

const SANDBOX_REMEDY =
  'Chromium needs unprivileged user namespaces for it (sysctl kernel.unprivileged_userns_clone=1; ' +
  'on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker a seccomp profile that allows them, ' +
  'see "Sandbox" in docs/operations.md)'

const DATA_WARNING =
  'A page that breaks out of Chromium could read the data directory: start the node as root, ' +
  'or allow what hides it (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)'

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
      'Chromium runs without its sandbox here: all right for your own sites; before you take sites of strangers: apt-get install chromium-headless-shell, and see "Sandbox" in docs/operations.md',
    )
    return await launch(options, 'off')
  }
}

async function launch(options: LaunchOptions, sandbox: Sandbox): Promise<BrowserProcess> {
  const { child, userDataDir, data, exited, lastOutput } = await spawnBrowser(options, sandbox)
  const groupId = child.pid ?? 0
  const cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)
  const memory = watchMemory(groupId, options.pageMemoryBytes)
  const busyPages = watchBusyPages(groupId)
  const { promise: killed, resolve: reportKill } = Promise.withResolvers<string>()
  const ended = Promise.race([killed, exited, cdp.closed])
  const gone = ended.then(async (why) => {
    memory.stop()
    busyPages.stop()
    if (child.pid !== undefined) killGroup(groupId)
    await exited
    // Of a browser that a script has started, as Debian's is, `exited` tells of the script only.
    if (child.pid !== undefined) await untilGroupIsGone(groupId)
    // Dying processes may still write for a moment. The next start removes what stays.
    await rm(userDataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }).catch(
      (error: Error) =>
        options.log.warn({ err: error }, 'the folder of a browser that has ended could not be removed'),
    )
    return why
  })
  const kill = (why: string) => {
    reportKill(why)
    return gone
  }

  const tooLate = setTimeout(() => void kill(`no answer in ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS)
  try {
    const { product, userAgent } = await cdp.browser.send('Browser.getVersion')
    const contextWorkers = await followContextWorkers(cdp.browser)
    if (sandbox === 'on' && !(await pagesAreSandboxed(groupId)))
      throw new Error('a page runs without a sandbox')
    await closeFirstPage(cdp)
    const parts = new BrowserParts(groupId, () => void kill('its network process has ended'))
    void ended.then(() => parts.stop())
    const mainPid = mainProcessOf(groupId)
    return {
      cdp,
      pid: groupId,
      mainPid,
      sandbox,
      data,
      product,
      userAgent,
      identity: options.identity ?? 'Prepaint',
      memory,
      parts,
      contextWorkers,
      ended,
      gone,
      kill,
      answers: () =>
        stillAnswers({
          answer: cdp.browser.send('Browser.getVersion'),
          processorMs: () => processorMsOf(mainPid),
        }),
      yieldCores: yieldingSession(groupId),
      memoryBytes: () => memoryOfGroupBytes(groupId),
    }
  } catch (error) {
    const why = await kill((error as Error).message)
    const { executable, source } = options.binary
    const name = source === 'PREPAINT_CHROMIUM' ? `${source}: ${executable}` : executable
    throw new BrowserStartError(`${name} does not work as a browser: ${why}. ${lastOutput()}`.trim(), {
      cause: error,
    })
  } finally {
    clearTimeout(tooLate)
  }
}

async function spawnBrowser(options: LaunchOptions, sandbox: Sandbox) {
  const { binary, dataDir, spkiHash, drawsPages = false, log } = options
  const user = browserUser()
  const home = reachableDir(dataDir, 'browsers', user)
  await removeAbandoned(home)
  const userDataDir = await mkdtemp(path.join(home, `${process.pid}-`))
  if (user !== null) await chown(userDataDir, user.uid, user.gid)

  const view = sandbox === 'off' && user === null ? viewOf(dataDir, binary.executable, home) : null
  const isHidden = view !== null && canHideFiles(view)
  if (view !== null && !isHidden) log.warn(DATA_WARNING)
  const data: DataAccess = user !== null || sandbox === 'on' || isHidden ? 'closed' : 'open'
  const flags = browserFlags({ userDataDir, sandbox: sandbox === 'on', spkiHash, drawsPages })
  const { file, args } = confined(binary.executable, flags, sandbox, isHidden ? view : null)
  const child = spawn(file, args, {
    // Descriptors 3 and 4 carry the protocol. Chromium exits when they close, so it does not outlive this process.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    // A separate group can be killed whole, and Ctrl-C on the terminal does not reach it.
    detached: true,
    cwd: '/',
    env: environment(binary, userDataDir),
    uid: user?.uid,
    gid: user?.gid,
  })
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (status, signal) => resolve(`exited (${signal ?? `status ${status}`})`))
  })
  return { child, userDataDir, data, exited, lastOutput: collectLastOutput(child) }
}

function yieldingSession(leader: number): BrowserProcess['yieldCores'] {
  let before = 0
  return (isYielding) => {
    const nice = isYielding ? LOWER_PRIORITY : 0
    if (nice === before) return
    try {
      writeFileSync(`/proc/${leader}/autogroup`, `${nice}`)
      before = nice
    } catch {} // The kernel accepts ten changes a second of all sessions, and may lack the file.
  }
}

/** Closes the page that Chromium opens at its start: nothing uses it, and its process holds 30 MiB. */
async function closeFirstPage({ browser }: CdpConnection): Promise<void> {
  const { targetInfos } = await browser.send('Target.getTargets')
  const pages = targetInfos.filter(({ type }) => type === 'page')
  await Promise.all(pages.map(({ targetId }) => browser.send('Target.closeTarget', { targetId })))
}

/** The kernel must filter the system calls of the first page's process, some milliseconds after its start. */
async function pagesAreSandboxed(groupId: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  for (let tries = 0; tries < 200; tries++) {
    const pages = processesOfGroup(groupId).filter(({ commandLine }) =>
      commandLine.includes('--type=renderer'),
    )
    if (pages.length > 0 && pages.every(({ pid }) => hasSystemCallFilter(pid))) return true
    await delay(10)
  }
  return false
}

/** Does not inherit our environment: it holds secrets, and its locale and proxies would change renders. */
function environment(binary: BrowserBinary, userDataDir: string): Record<string, string> {
  const variables: Record<string, string> = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: userDataDir,
    TMPDIR: userDataDir,
    XDG_CACHE_HOME: userDataDir,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
  }
  if (binary.libraryDir !== null) variables['LD_LIBRARY_PATH'] = binary.libraryDir
  if (binary.fontsDir !== null) variables['FONTCONFIG_PATH'] = binary.fontsDir
  return variables
}

function collectLastOutput(child: ChildProcess): () => string {
  let output = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (text: string) => {
    output = (output + text).slice(-LAST_OUTPUT_CHARS)
  })
  return () => output.trim()
}

async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const owner = /^(\d+)-/.exec(name)?.[1]
    if (owner === undefined || existsSync(`/proc/${owner}`) || process.platform !== 'linux') continue
    await rm(path.join(home, name), { recursive: true, force: true })
  }
}
