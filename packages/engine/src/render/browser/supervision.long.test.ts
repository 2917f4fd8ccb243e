/**
 * Browsers and pages die and hang; only the render concerned may notice, and nothing is left behind. When a browser is
 * replaced without that is in supervisor.test.ts, kills at random moments are in test/soak/.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { beforeEach, describe, it } from 'node:test'
import { until } from '../../../../../test/support/condition.ts'
import { makeDataDir, removeDir } from '../../../../../test/support/data-dir.ts'
import { isBrowser, browserProcessesOf as processesOf } from '../../../../../test/support/processes.ts'
import { openRenderer, scripted } from '../../../../../test/support/renderer.ts'

const renderer = await openRenderer({ slots: 2, timeoutMs: 20_000 })

const { routes } = renderer
routes.set('/page', '<!doctype html><p>content</p>')
const hang = () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  routes.set('/hang', () => resolve())
  routes.set('/hanging', scripted(`show('a'); window.prerenderReady = false; fetch('/hang')`))
  return { asked, outcome: renderer.page('/hanging', { domain: 'hanging.example' }) }
}

const browsers = () => processesOf(renderer.dataDir).filter(isBrowser)
const having = (words: string) =>
  processesOf(renderer.dataDir).filter(({ command }) => command.includes(words))
/** Of a browser that has just ended, something may still be there. */
const networkOf = (browser: number) => having('NetworkService').find(({ group }) => group === browser)
const pages = () => having('--type=renderer')

describe('what dies is replaced', () => {
  // What the last test has ended may not be gone yet.
  beforeEach(() =>
    until('one browser and nothing of another', () => {
      // Full Chromium's crash handlers have groups of their own, and end with it.
      const all = processesOf(renderer.dataDir).filter(({ command }) => !command.includes('crashpad_handler'))
      const groups = new Set(all.map(({ group }) => group))
      return groups.size === 1 && browsers().length === 1
    }),
  )

  for (const [what, victimOf] of [
    ['browser', (browser: ReturnType<typeof browsers>[number]) => browser],
    ['network process', ({ group }: { group: number }) => networkOf(group)!],
  ] as const) {
    it(`a killed ${what} ends renders as crashed; the next render has another browser`, async () => {
      const { asked, outcome } = hang()
      await asked
      const [before] = browsers()
      process.kill(victimOf(before!).pid, 'SIGKILL')
      assert.equal((await outcome).kind, 'crashed')
      assert.match(await renderer.html('/page'), /content/)
      await until(
        'the new browser alone',
        () => browsers().length === 1 && browsers()[0]!.pid !== before!.pid,
      )
      assert.equal(renderer.healthy, true)
    })
  }

  it('a browser that is stopped and answers nothing is replaced too', async () => {
    const [before] = browsers()
    process.kill(before!.pid, 'SIGSTOP')
    const outcome = renderer.page('/page', { domain: 'stopped.example' })
    await until('another browser', () => browsers().some(({ pid }) => pid !== before!.pid))
    await outcome
    assert.match(await renderer.html('/page'), /content/)
  })

  it('a browser that answers but can make no page any more is replaced, and the render has the next one', async () => {
    const [before] = browsers()
    const zygotes = () => having('--type=zygote')
    assert(zygotes().length > 0)
    // One of them may end with the one before it: what counts is that none is left.
    await until('no zygote is left', () => {
      for (const { pid } of zygotes()) process.kill(pid, 'SIGKILL')
      return zygotes().length === 0
    })
    assert.match(await renderer.html('/page', { domain: 'zygote.example' }), /content/)
    assert.notEqual(browsers().at(-1)!.pid, before!.pid)
  })

  it('a page that ends in the moment its network process dies is not kept', async () => {
    const network = networkOf(browsers().at(-1)!.group)
    // Killed while the origin is asked for the page's data: the page shows its own failure, and is done.
    routes.set('/data', () => void process.kill(network!.pid, 'SIGKILL'))
    routes.set('/failing', scripted(`fetch('/data').catch(() => show('no data'))`))
    assert.equal((await renderer.page('/failing')).kind, 'crashed')
    assert.match(await renderer.html('/page'), /content/)
  })

  it("a page's process that is killed ends only its own render", async () => {
    await renderer.html('/page')
    const idle = new Set(pages().map(({ pid }) => pid))
    const { asked, outcome } = hang()
    await asked
    const [browser] = browsers()
    // Full Chromium has a spare one besides.
    for (const { pid } of pages()) if (!idle.has(pid)) process.kill(pid, 'SIGKILL')
    assert.equal((await outcome).kind, 'crashed')
    assert.match(await renderer.html('/page'), /content/)
    assert.equal(browsers()[0]!.pid, browser!.pid)
  })

  it('a script that hangs costs its own page, and no processor time after that', async () => {
    routes.set('/loop', scripted('while (true) {}'))
    const idle = new Set(pages().map(({ pid }) => pid))
    const calledOff = new AbortController()
    const outcome = renderer.page('/loop', { domain: 'loop.example', signal: calledOff.signal })
    // Half a second of processor time may be long in coming where others want it too.
    const looping = await until(
      'the loop',
      () => pages().find(({ pid, cpuMs }) => cpuMs > 500 && !idle.has(pid)),
      18_000,
    )
    calledOff.abort()
    assert.equal((await outcome).kind, 'aborted')
    await until('the end of the looping process', () => !pages().some(({ pid }) => pid === looping.pid))
    assert.match(await renderer.html('/page'), /content/)
  })
})

describe('nothing is left behind', () => {
  it('after close: no process, no directory of a browser', async (t) => {
    const short = await openRenderer({}, t)
    assert(processesOf(short.dataDir).length > 0)
    await short.renderer.close()
    assert.deepEqual(processesOf(short.dataDir), [])
    assert.deepEqual(await readdir(path.join(short.dataDir, 'browsers')), [])
  })

  it('after a kill -9 of the node, with a page that hangs; the next start removes its directory', async () => {
    const dataDir = makeDataDir()
    const node = spawn(
      process.execPath,
      [path.join(import.meta.dirname, '../../../../../test/support/renderer-main.ts'), dataDir],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [line] = await once(createInterface(node.stdout), 'line')
    assert.equal(line, 'looping')
    assert(processesOf(dataDir).length > 2)
    node.kill('SIGKILL')
    await until('the end of every process', () => processesOf(dataDir).length === 0)
    removeDir(dataDir)
  })
})
