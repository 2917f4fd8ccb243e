/** What a page that has broken out of Chromium would find itself to be. An ordinary user's: hidden-files.test.ts. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import path from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../test/support/condition.ts'
import { testChromium } from '../../../test/support/data-dir.ts'
import { listProcesses } from '../../../test/support/processes.ts'
import { openRenderer } from '../../../test/support/renderer.ts'
import { silentLog } from '../../log.ts'
import { browserUser, ownUid } from '../../system-user.ts'
import { PAGE_LIMITS } from '../outcome.ts'
import { findBrowser } from './browser-binary.ts'
import { launchBrowser } from './browser-process.ts'
import { BROWSER_RLIMITS } from './confinement.ts'
import { processesOfGroup } from './process-group.ts'

/** The browser's environment must not hold what stands in ours. */
process.env['DATABASE_URL'] = 'postgres://secret-of-the-node@127.0.0.1/x'

const renderer = await openRenderer()
const { dataDir } = renderer
renderer.routes.set('/', '<!doctype html><p>page</p>')
await renderer.html('/')

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

it('every process has a lower priority, and its session has one while it yields', async (t) => {
  const browser = await launchBrowser({
    ...{ binary: await findBrowser({ chromium: testChromium, dataDir }), dataDir, spkiHash: null },
    ...{ pageMemoryBytes: PAGE_LIMITS.memoryBytes, requireSandbox: false, log: silentLog() },
  })
  t.after(() => browser.kill('the test is over'))
  await renderer.html('/', { domain: 'nice.example' })
  const group = processesOfGroup(browser.pid)
  // Pages' processes too.
  for (const { pid } of [...browserProcesses(), ...group])
    assert.equal(file(pid, 'stat').split(') ')[1]!.split(' ')[16], '10')
  if (!existsSync('/proc/self/autogroup')) return
  for (const [isYielding, nice] of [
    [true, / nice 10$/m],
    [false, / nice 0$/m],
  ] as const) {
    await until('the kernel has accepted it', () => {
      browser.yieldCores(isYielding)
      return group.every(({ pid }) => nice.test(file(pid, 'autogroup')))
    })
  }
})
