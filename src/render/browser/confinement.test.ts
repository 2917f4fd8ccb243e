/** What a page that has broken out of Chromium would find itself to be. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
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
import { BROWSER_RLIMITS, canHideFiles, viewOf } from './confinement.ts'
import { processesOfGroup } from './process-group.ts'

/** The browser's environment must not hold what stands in ours. */
process.env['DATABASE_URL'] = 'postgres://secret-of-the-node@127.0.0.1/x'

const renderer = await openRenderer()
renderer.routes.set('/', '<!doctype html><p>page</p>')
await renderer.html('/')

const file = (pid: number, name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8')

/** Looks at all of them; one that ends meanwhile has nothing left to be seen. */
function everyProcess(look: (pid: number) => void): void {
  let looked = 0
  for (const pid of browserPids()) {
    try {
      look(pid)
      looked++
    } catch (error) {
      if (!isEnding(pid)) throw error
    }
  }
  assert(looked >= 3, `${looked} processes`)
}

/** Its memory is given back before all else, and with it its command line. */
function isEnding(pid: number): boolean {
  return listProcesses().every((one) => one.pid !== pid || one.command === '')
}

/** All processes of this renderer's browser, by the directory in the command line of its first one. */
function browserPids(): number[] {
  const isFirst = (command: string) => command.includes(`--user-data-dir=${renderer.dataDir}`)
  const first = listProcesses().find(({ pid, group, command }) => pid === group && isFirst(command))
  const pids = first === undefined ? [] : processesOfGroup(first.group).map(({ pid }) => pid)
  assert(pids.length >= 3, `${pids.length} processes`)
  return pids
}

describe('every process of the browser', () => {
  it('has a user of its own when we are root, and no group of anybody else', () => {
    const wanted = browserUser() ?? { uid: ownUid(), gid: process.getgid?.() ?? 0 }
    everyProcess((pid) => {
      const status = file(pid, 'status')
      assert.match(status, new RegExp(`^Uid:(\\s+${wanted.uid}){4}$`, 'm'))
      assert.match(status, new RegExp(`^Gid:(\\s+${wanted.gid}){4}$`, 'm'))
      if (ownUid() === 0) assert.match(status, /^Groups:\s*$/m)
    })
  })

  it('holds no capability, and cannot gain one', () => {
    everyProcess((pid) => {
      const isFirst = !file(pid, 'cmdline').includes('--type=')
      // Chromium's sandbox gives its helpers some, in a user namespace where they are worth nothing outside.
      if (isFirst || renderer.sandbox === 'off') assert.match(file(pid, 'status'), /^CapEff:\s+0+$/m)
      // With its sandbox on, Chromium says so itself to every process but its first.
      if (renderer.sandbox === 'on' && isFirst) return
      assert.match(file(pid, 'status'), /^NoNewPrivs:\s+1$/m)
    })
  })

  it('has limits on files, and leaves no core behind', () => {
    const { openFiles, fileBytes } = BROWSER_RLIMITS
    everyProcess((pid) => {
      const limits = file(pid, 'limits')
      const hard = (name: string) => Number(new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(limits)?.[1])
      assert(hard('Max open files') <= openFiles)
      assert(hard('Max file size') <= fileBytes)
      assert.equal(hard('Max core file size'), 0)
    })
  })

  it('has an environment without anything of ours', () =>
    everyProcess((pid) =>
      assert.doesNotMatch(file(pid, 'environ'), /secret-of-the-node|DATABASE_URL|PREPAINT_|npm_/),
    ))

  it('speaks its protocol over pipes: no page finds a port', () =>
    everyProcess((pid) => assert.doesNotMatch(file(pid, 'cmdline'), /remote-debugging-port/)))
})

it("the data directory as the browser's user: nothing can be read but its own, and its program cannot be changed", async () => {
  const user = browserUser()
  if (user === null) return shownNothingElse()
  const secret = path.join(renderer.dataDir, 'postgres')
  await mkdir(secret, { mode: 0o700 })
  await writeFile(path.join(secret, 'key'), 'secret', { mode: 0o600 })
  const as = (script: string) =>
    execFileSync('/bin/sh', ['-c', script, 'sh', renderer.dataDir], { ...user, encoding: 'utf8' }).trim()
  for (const script of ['cat "$1/postgres/key"', 'ls "$1"', 'ls "$1/postgres"', 'touch "$1/new"'])
    assert.equal(as(`${script} 2>/dev/null || echo refused`), 'refused', script)
  // The other half: the same user reads what is its own.
  assert.notEqual(as('ls "$1/browsers"'), '')
  // A system browser is not unpacked there.
  if (existsSync(path.join(renderer.dataDir, 'chromium'))) {
    assert.equal(as('find "$1/chromium" -type f -writable; find "$1/chromium" -type d -writable'), '')
    assert.match(as('find "$1/chromium" -name chromium -type f -executable'), /chromium$/)
  }
  await chmod(secret, 0o711)
  assert.equal(as('cat "$1/postgres/key" 2>/dev/null || echo refused'), 'refused')
})

describe('processes of domains', () => {
  /** Both pages hang in their fetch until `go`. */
  async function hold(domains: string[]) {
    const waiting: (() => void)[] = []
    const { promise: all, resolve } = Promise.withResolvers<void>()
    renderer.routes.set('/wait', (_request, response) => {
      waiting.push(() => response.end('{}'))
      if (waiting.length === domains.length) resolve()
    })
    renderer.routes.set('/hold', '<!doctype html><p>held</p><script>fetch("/wait").then(() => {})</script>')
    const outcomes = domains.map((domain) => renderer.page('/hold', { domain }))
    await all
    return { outcomes, go: () => waiting.forEach((answer) => void answer()) }
  }

  const renderers = () => {
    const pids = new Set(browserPids())
    return listProcesses().flatMap(({ pid, command }) =>
      pids.has(pid) && command.includes('--type=renderer') ? [pid] : [],
    )
  }

  it('are never shared: when one dies, one domain loses its page', async () => {
    for (const turn of ['first', 'last']) {
      const before = new Set(renderers())
      const { outcomes, go } = await hold([`one-${turn}.example`, `other-${turn}.example`])
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
      go()
      assert.deepEqual((await Promise.all(outcomes)).map(({ kind }) => kind).sort(), ['crashed', 'rendered'])
    }
  })
})

it('every process has a lower priority, and its session has one while it yields', async (t) => {
  const { dataDir } = renderer
  const browser = await launchBrowser({
    ...{ binary: await findBrowser({ chromium: testChromium, dataDir }), dataDir, spkiHash: null },
    ...{ pageMemoryBytes: PAGE_LIMITS.memoryBytes, requireSandbox: false, log: silentLog() },
  })
  t.after(() => browser.kill('the test is over'))
  await renderer.html('/', { domain: 'nice.example' })
  const group = processesOfGroup(browser.pid)
  // Pages' processes too.
  for (const pid of [...browserPids(), ...group.map(({ pid }) => pid)]) {
    assert.equal(file(pid, 'stat').split(') ')[1]!.split(' ')[16], '10')
  }
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

/** An ordinary user's browser is no other user: what it is not to read it is not shown, where that is possible. */
function shownNothingElse(): void {
  const { dataDir } = renderer
  const view = viewOf(dataDir, path.join(dataDir, 'chromium', 'chromium'), path.join(dataDir, 'browsers'))
  if (renderer.sandbox === 'on' || !canHideFiles(view)) return
  for (const pid of browserPids()) {
    assert.deepEqual(readdirSync(`/proc/${pid}/root${dataDir}`).sort(), ['browsers', 'chromium'])
  }
}
