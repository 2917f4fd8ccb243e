/** Chromium's sandbox: on where it can be, and never silently off. */
import assert from 'node:assert/strict'
import { readFileSync, readlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { makeDataDir, removeDir, testChromium } from '../../../test/support/data-dir.ts'
import { PAGE_LIMITS } from '../outcome.ts'
import { type BrowserBinary, findBrowser } from './browser-binary.ts'
import { BrowserStartError, launchBrowser } from './browser-process.ts'

const dataDir = makeDataDir()
const real = await findBrowser({ chromium: testChromium, dataDir })
after(() => removeDir(dataDir))

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

it('the processor time of a browser is its own, not that of a script that started it, as on Debian', async (t) => {
  for (const script of ['REAL "$@"', 'exec REAL "$@"']) {
    const { browser } = await launch(t, await behind(script))
    const command = readFileSync(`/proc/${browser.mainPid}/cmdline`, 'utf8')
    assert.equal(command.includes('--type='), false, command)
    assert.equal(path.basename(readlinkSync(`/proc/${browser.mainPid}/exe`)).includes('chrom'), true, command)
  }
})
