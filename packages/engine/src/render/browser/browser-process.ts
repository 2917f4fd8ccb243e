import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import type { Log } from '@prepaint/runtime/log.ts'
import { browserUser, reachableDir } from '@prepaint/runtime/system-user.ts'
import { ContextWorkers } from '../tab/workers.ts'
import type { BrowserBinary } from './browser-binary.ts'
import { browserFlags } from './browser-flags.ts'
import { BrowserParts, BusyPages, MemoryWatch, stillAnswers } from './browser-watch.ts'
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

/** What a browser says of itself once it has started. */
type Started = {
  product: string
  userAgent: string
  contextWorkers: ContextWorkers
}

/** A browser that has started, with all its processes. */
export class BrowserProcess {
  readonly cdp: CdpConnection
  readonly pid: number
  /** Chromium itself, if `pid` is a script that started it. */
  readonly mainPid: number
  readonly sandbox: Sandbox
  readonly data: DataAccess
  readonly product: string
  readonly userAgent: string
  readonly identity: string
  readonly memory: MemoryWatch
  readonly parts: BrowserParts
  readonly contextWorkers: ContextWorkers
  readonly #group: BrowserGroup
  #nice = 0

  constructor(
    group: BrowserGroup,
    { product, userAgent, contextWorkers }: Started,
    { sandbox, identity }: { sandbox: Sandbox; identity: string },
  ) {
    this.#group = group
    this.cdp = group.cdp
    this.pid = group.id
    this.mainPid = mainProcessOf(group.id)
    this.sandbox = sandbox
    this.data = group.data
    this.product = product
    this.userAgent = userAgent
    this.identity = identity
    this.memory = group.memory
    this.contextWorkers = contextWorkers
    this.parts = new BrowserParts(group.id, () => void this.kill('its network process has ended'))
    void group.ended.then(() => this.parts.stop())
  }

  /** Resolves with the reason when the browser is dead or dying. */
  get ended(): Promise<string> {
    return this.#group.ended
  }

  /** Resolves with the reason when every process is gone and the directory is removed. */
  get gone(): Promise<string> {
    return this.#group.gone
  }

  kill(why: string): Promise<string> {
    return this.#group.kill(why)
  }

  /** Resolves with whether it answers within two seconds, or within ten if it is busy. */
  answers(): Promise<boolean> {
    return stillAnswers({
      answer: this.cdp.browser.send('Browser.getVersion'),
      processorMs: () => processorMsOf(this.mainPid),
    })
  }

  memoryBytes(): Promise<number> {
    return memoryOfGroupBytes(this.pid)
  }

  /**
   * Gives it a tenth of the cores beside any other session that needs them, where the kernel shares them between
   * sessions: there its own low priority (see `confined`) only counts inside its session. No effect elsewhere.
   */
  yieldCores(isYielding: boolean): void {
    const nice = isYielding ? LOWER_PRIORITY : 0
    if (nice === this.#nice) return
    try {
      writeFileSync(`/proc/${this.pid}/autogroup`, `${nice}`)
      this.#nice = nice
    } catch {
      // The kernel accepts ten changes a second of all sessions, and may lack the file.
    }
  }
}

/** The processes of a browser, from the spawn of the first to the removal of their folder. */
class BrowserGroup {
  readonly id: number
  readonly data: DataAccess
  readonly cdp: CdpConnection
  readonly memory: MemoryWatch
  readonly ended: Promise<string>
  readonly gone: Promise<string>
  readonly #spawned: SpawnedBrowser
  readonly #busyPages: BusyPages
  readonly #killed = Promise.withResolvers<string>()

  constructor(spawned: SpawnedBrowser, { pageMemoryBytes, log }: LaunchOptions) {
    const { child, data, exited } = spawned
    this.#spawned = spawned
    this.id = child.pid ?? 0
    this.data = data
    this.cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)
    this.memory = new MemoryWatch(this.id, pageMemoryBytes)
    this.#busyPages = new BusyPages(this.id)
    this.ended = Promise.race([this.#killed.promise, exited, this.cdp.closed])
    this.gone = this.ended.then(async (why) => {
      await this.#cleanUp(log)
      return why
    })
  }

  kill(why: string): Promise<string> {
    this.#killed.resolve(why)
    return this.gone
  }

  /** The end of what the processes have written. */
  lastOutput(): string {
    return this.#spawned.lastOutput()
  }

  async #cleanUp(log: Log): Promise<void> {
    const { child, exited, userDataDir } = this.#spawned
    this.memory.stop()
    this.#busyPages.stop()
    if (child.pid !== undefined) killGroup(this.id)
    await exited
    // Of a browser that a script has started, as Debian's is, `exited` tells of the script only.
    if (child.pid !== undefined) await untilGroupIsGone(this.id)
    // Dying processes may still write for a moment. The next start removes what stays.
    await rm(userDataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }).catch(
      (error: Error) =>
        log.warn({ err: error }, 'the folder of a browser that has ended could not be removed'),
    )
  }
}

async function launch(options: LaunchOptions, sandbox: Sandbox): Promise<BrowserProcess> {
  const group = new BrowserGroup(await spawnBrowser(options, sandbox), options)
  const tooLate = setTimeout(() => void group.kill(`no answer in ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS)
  try {
    const { product, userAgent } = await group.cdp.browser.send('Browser.getVersion')
    const contextWorkers = await ContextWorkers.follow(group.cdp.browser)
    if (sandbox === 'on' && !(await pagesAreSandboxed(group.id)))
      throw new Error('a page runs without a sandbox')
    await closeFirstPage(group.cdp)
    const { identity = 'Prepaint' } = options
    return new BrowserProcess(group, { product, userAgent, contextWorkers }, { sandbox, identity })
  } catch (error) {
    const why = await group.kill((error as Error).message)
    const { executable, source } = options.binary
    const name = source === 'PREPAINT_CHROMIUM' ? `${source}: ${executable}` : executable
    throw new BrowserStartError(`${name} does not work as a browser: ${why}. ${group.lastOutput()}`.trim(), {
      cause: error,
    })
  } finally {
    clearTimeout(tooLate)
  }
}

type SpawnedBrowser = {
  child: ChildProcess
  userDataDir: string
  data: DataAccess
  exited: Promise<string>
  lastOutput(): string
}

async function spawnBrowser(options: LaunchOptions, sandbox: Sandbox): Promise<SpawnedBrowser> {
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
