/** What a page that has broken out of Chromium would find itself to be; and Chromium's sandbox, which is never silently off. */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { PAGE_LIMITS } from '@prepaint/contract/outcome/outcome.ts'
import { browserUser, ownUid } from '@prepaint/runtime/system-user.ts'
import { pino } from 'pino'
import { testChromium } from '../../../../../test/support/data-dir.ts'
import { listProcesses } from '../../../../../test/support/processes.ts'
import { openRenderer } from '../../../../../test/support/renderer.ts'
import { type BrowserBinary, findBrowser } from './browser-binary.ts'
import { BrowserStartError, launchBrowser } from './browser-process.ts'
import { BROWSER_RLIMITS, LOWER_PRIORITY, viewOf } from './confinement.ts'
import { processesOfGroup } from './process-group.ts'

/** The browser's environment must not hold what stands in ours. */
process.env['DATABASE_URL'] = 'postgres://secret-of-the-node@127.0.0.1/x'

const renderer = await openRenderer()
const { dataDir } = renderer
renderer.routes.set('/', '<!doctype html><p>page</p>')
await renderer.html('/')
const real = await findBrowser({ chromium: testChromium, dataDir })
/** Of its own, for its files get another owner; one for all, for unpacking the browser takes seconds. */
const ordinaryDir = await mkdtemp(path.join(tmpdir(), 'prepaint-view-'))
await chmod(ordinaryDir, 0o711)
await mkdir(path.join(ordinaryDir, 'postgres'), { mode: 0o700 })
await writeFile(path.join(ordinaryDir, 'postgres', 'key'), 'secret-of-the-node', { mode: 0o600 })
after(() => rm(ordinaryDir, { recursive: true, force: true }))

const file = (pid: number, name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8')

/** All processes of this renderer's browser, by the directory in the command line of its first one. */
function browserProcesses() {
  const isFirst = (command: string) => command.includes(`--user-data-dir=${dataDir}`)
  const first = listProcesses().find(({ pid, group, command }) => pid === group && isFirst(command))
  return processesOfGroup(first!.group)
}

/** Its user, its privileges, its limits on files, its environment; it speaks over pipes, so that no page finds a port. */
function assertConfined(pid: number): void {
  const status = file(pid, 'status')
  const { uid, gid } = browserUser() ?? { uid: ownUid(), gid: process.getgid?.() ?? 0 }
  assert.match(status, new RegExp(`^Uid:(\\s+${uid}){4}$`, 'm'))
  assert.match(status, new RegExp(`^Gid:(\\s+${gid}){4}$`, 'm'))
  if (ownUid() === 0) assert.match(status, /^Groups:\s*$/m)

  const isFirst = !file(pid, 'cmdline').includes('--type=')
  // Chromium's sandbox gives its helpers some, in a user namespace where they are worth nothing outside.
  if (isFirst || renderer.sandbox === 'off') assert.match(status, /^CapEff:\s+0+$/m)
  // With its sandbox on, Chromium says so itself to every process but its first.
  if (renderer.sandbox === 'off' || !isFirst) assert.match(status, /^NoNewPrivs:\s+1$/m)

  const limits = file(pid, 'limits')
  const hard = (name: string) => Number(new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(limits)?.[1])
  assert(hard('Max open files') <= BROWSER_RLIMITS.openFiles)
  assert(hard('Max file size') <= BROWSER_RLIMITS.fileBytes)
  assert.equal(hard('Max core file size'), 0)

  // 19 for a page that is busy for long, such as the one that is kept ready on a slow machine.
  const nice = Number(file(pid, 'stat').split(') ')[1]!.split(' ')[16])
  assert(nice >= LOWER_PRIORITY, `a lower priority: ${nice}`)
  assert.doesNotMatch(file(pid, 'environ'), /secret-of-the-node|DATABASE_URL|PREPAINT_|npm_/)
  assert.doesNotMatch(file(pid, 'cmdline'), /remote-debugging-port/)
}

it('every process of the browser has a user of its own, no capability, limits, and nothing of ours', () => {
  let looked = 0
  for (const { pid } of browserProcesses()) {
    try {
      assertConfined(pid)
      looked++
    } catch (error) {
      // The memory of one that ends is given back before all else, and with it its command line.
      if (listProcesses().some((one) => one.pid === pid && one.command !== '')) throw error
    }
  }
  assert(looked >= 3, `${looked} processes`)
})

it("the data directory as the browser's user: nothing can be read but its own, and its program cannot be changed", async () => {
  const user = browserUser()
  if (user === null) return
  const secret = path.join(dataDir, 'postgres')
  await mkdir(secret, { mode: 0o700 })
  await writeFile(path.join(secret, 'key'), 'secret', { mode: 0o600 })
  const as = (script: string) =>
    execFileSync('/bin/sh', ['-c', script, 'sh', dataDir], { ...user, encoding: 'utf8' }).trim()
  for (const script of ['cat "$1/postgres/key"', 'ls "$1"', 'ls "$1/postgres"', 'touch "$1/new"'])
    assert.equal(as(`${script} 2>/dev/null || echo refused`), 'refused', script)
  // The other half: the same user reads what is its own.
  assert.notEqual(as('ls "$1/browsers"'), '')
  // A system browser is not unpacked there.
  if (existsSync(path.join(dataDir, 'chromium'))) {
    assert.equal(as('find "$1/chromium" -type f -writable; find "$1/chromium" -type d -writable'), '')
    assert.match(as('find "$1/chromium" -name chromium -type f -executable'), /chromium$/)
  }
  await chmod(secret, 0o711)
  assert.equal(as('cat "$1/postgres/key" 2>/dev/null || echo refused'), 'refused')
})

it('processes of domains are never shared: when one dies, one domain loses its page', async () => {
  const renderers = () =>
    browserProcesses().flatMap(({ pid, commandLine }) =>
      commandLine.includes('--type=renderer') ? [pid] : [],
    )
  renderer.routes.set('/hold', '<!doctype html><p>held</p><script>fetch("/wait").then(() => {})</script>')
  for (const turn of ['first', 'last']) {
    const before = new Set(renderers())
    const waiting: ServerResponse[] = []
    const { promise: both, resolve } = Promise.withResolvers<void>()
    renderer.routes.set('/wait', (_request, response) => {
      if (waiting.push(response) === 2) resolve()
    })
    const outcomes = ['one', 'other'].map((name) =>
      renderer.page('/hold', { domain: `${name}-${turn}.example` }),
    )
    await both
    const added = renderers().filter((pid) => !before.has(pid))
    assert(added.length >= 2)
    let ended: Awaited<(typeof outcomes)[number]> | undefined
    // Some are spare: only the headless shell starts none.
    for (const pid of turn === 'first' ? added : added.toReversed()) {
      process.kill(pid, 'SIGKILL')
      ended = await Promise.race([...outcomes, delay(2_000, undefined)])
      if (ended !== undefined) break
    }
    assert.equal(ended?.kind, 'crashed')
    for (const response of waiting) response.end('{}')
    assert.deepEqual((await Promise.all(outcomes)).map(({ kind }) => kind).sort(), ['crashed', 'rendered'])
  }
})

/** The real browser behind a script, as on a machine where its sandbox cannot work. */
async function behind(script: string): Promise<BrowserBinary> {
  const executable = path.join(dataDir, `browser-${Math.random()}`)
  await writeFile(executable, `#!/bin/sh\n${script.replaceAll('REAL', real.executable)}\n`, { mode: 0o755 })
  return { ...real, executable }
}

async function launch(t: TestContext, binary: BrowserBinary, requireSandbox = false) {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const { memoryBytes: pageMemoryBytes } = PAGE_LIMITS
  const browser = await launchBrowser({
    binary,
    dataDir,
    spkiHash: null,
    pageMemoryBytes,
    requireSandbox,
    log,
  })
  t.after(() => browser.kill('the test is over'))
  return { browser, lines }
}

const UNUSABLE =
  'case "$*" in *--no-sandbox*) exec REAL "$@";; *) echo "FATAL: No usable sandbox!" >&2; exit 1;; esac'
/** Starts, and says nothing of it: only the kernel knows. */
const LYING = 'exec REAL --no-sandbox "$@"'

for (const [name, script] of Object.entries({
  'refuses to start with it': UNUSABLE,
  'runs without it unasked': LYING,
})) {
  it(`a browser that ${name} is run without, under no new privileges, and the node says so with what mends it`, async (t) => {
    const { browser, lines } = await launch(t, await behind(script))
    assert.equal(browser.sandbox, 'off')
    assert.match(readFileSync(`/proc/${browser.pid}/status`, 'utf8'), /^NoNewPrivs:\s+1$/m)
    assert.equal(lines.length, 1)
    for (const words of [/without its sandbox/, /apt-get install/, /operations/])
      assert.match(lines[0]!, words)
  })

  it(`a browser that ${name} is none where the sandbox is required: the error says why, and what to do`, async (t) => {
    await assert.rejects(launch(t, await behind(script), true), (error) => {
      assert(error instanceof BrowserStartError)
      assert.match(error.message, /PREPAINT_REQUIRE_SANDBOX=1 asks for it/)
      assert.match(error.message, /unprivileged user namespaces/)
      return true
    })
  })
}

it('a program that is no browser is named with its setting', async (t) => {
  const binary = { ...(await behind('exit 0')), source: 'PREPAINT_CHROMIUM' as const }
  const words = `PREPAINT_CHROMIUM: ${binary.executable} does not work as a browser`
  const isNamed = (error: unknown) => error instanceof BrowserStartError && error.message.startsWith(words)
  await assert.rejects(launch(t, binary), isNamed)
})

// An ordinary user's browser without a sandbox: what breaks out of it does not see the data directory.

type Told = { uid: number; said: string[]; pid?: number; hiding?: string[]; evaluated?: number } & Partial<
  Record<'sandbox' | 'data' | 'error', string>
>

async function startAsOrdinaryUser(t: TestContext, home = process.env['HOME'] ?? ''): Promise<Told> {
  const main = path.join(import.meta.dirname, '../../../../../test/support/ordinary-user-main.ts')
  const child = spawn(process.execPath, [main, ordinaryDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, HOME: home },
  })
  t.after(async () => {
    child.stdin.end()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const told = JSON.parse(line) as Told
  assert.notEqual(told.uid, 0)
  return told
}

function saysSo({ said }: Told): void {
  assert.match(said[0] ?? '', /without its sandbox/)
  assert.match(said[1] ?? '', /could read the data directory: start the node as root, or allow what hides it/)
  assert.match(said[1] ?? '', /sysctl kernel\.unprivileged_userns_clone=1/)
}

/** What ends with a script that is shown what the browser is shown. */
const INSIDE = `
  cat "${ordinaryDir}/postgres/key"; ls "${ordinaryDir}" "$HOME" /tmp
  touch "${ordinaryDir}/chromium/new" && echo program-written
  touch "${ordinaryDir}/browsers/new" && echo home-written
  umount "${ordinaryDir}" && echo uncovered
  unshare --user --map-root-user --mount umount "${ordinaryDir}" && echo uncovered
  for pid in /proc/[0-9]*; do cat $pid/root${ordinaryDir}/postgres/key; done
  echo "processes: $(ls -d /proc/[0-9]* | wc -l)"
  grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status`

describe('a browser of an ordinary user', () => {
  it('whose sandbox cannot work sees nothing but its program and its own files, or the node says so', async (t) => {
    const told = await startAsOrdinaryUser(t)
    assert.deepEqual([told.error, told.sandbox, told.evaluated], [undefined, 'off', 42])
    const user = ownUid() === 0 ? { uid: told.uid, gid: told.uid } : {}
    const mount = ['--user', '--map-root-user', '--mount', 'true']
    const isAllowed = spawnSync('unshare', mount, user).status === 0
    assert.equal(told.data, isAllowed ? 'closed' : 'open')
    if (!isAllowed) return saysSo(told)
    assert.equal(told.said.length, 1)
    assert.match(told.said[0] ?? '', /without its sandbox/)
    assert(processesOfGroup(told.pid!).some(({ commandLine }) => commandLine.includes('--type=')))

    const [file = '', ...args] = [...told.hiding!, '/bin/sh', '-c', `exec 2>&1; ${INSIDE}`]
    const said = spawnSync(file, args, { ...user, encoding: 'utf8' }).stdout
    assert.doesNotMatch(said, /secret-of-the-node|program-written|uncovered/)
    assert.match(said, new RegExp(`^cat: '?${ordinaryDir}/postgres/key'?: No such file`, 'm'))
    assert.match(said, /home-written/)
    // Only its own script: no other /proc/<pid>/root leads out.
    assert.match(said, /^processes: [1-9]$/m)
    for (const line of [/^CapEff:\s+0+$/m, /^CapBnd:\s+0+$/m, /^NoNewPrivs:\s+1$/m]) assert.match(said, line)
  })

  it('where it cannot be hidden: the node says what can be read, and what mends it', async (t) => {
    // Nothing can be laid over a file.
    const told = await startAsOrdinaryUser(t, '/etc/passwd')
    assert.equal(told.data, 'open')
    saysSo(told)
  })
})

it('what lies in a hidden directory is hidden with it, and a program elsewhere stays where it is', () => {
  const within = viewOf('/tmp/data', '/tmp/data/chromium/1/chromium', '/tmp/data/browsers')
  assert.equal(within.program, '/tmp/data/chromium')
  assert(within.hidden.includes('/tmp') && !within.hidden.includes('/tmp/data'))
  assert.equal(viewOf('/tmp/data', '/usr/bin/chromium', '/tmp/data/browsers').program, '/usr/bin')
})
