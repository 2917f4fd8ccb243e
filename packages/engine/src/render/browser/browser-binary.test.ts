import assert from 'node:assert/strict'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { makeDataDir, removeDir } from '../../../../../test/support/data-dir.ts'
import { BrowserMissing, findBrowser } from './browser-binary.ts'

/** Users of browsers can enter it. */
const dir = makeDataDir()
after(() => removeDir(dir))

async function program(name: string, mode = 0o755): Promise<string> {
  const file = path.join(dir, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, '#!/bin/sh\n', { mode })
  return file
}

describe('which browser is taken', () => {
  it('the one that was named', async () => {
    const chromium = await program('named/any')
    const found = await findBrowser({ chromium, dataDir: dir, systemDirs: [] })
    assert.deepEqual([found.executable, found.source], [chromium, 'PREPAINT_CHROMIUM'])
  })

  it('named, but no program: an error that says so, never another one', async () => {
    for (const chromium of ['/no/such/file', dir, await program('plain', 0o644)]) {
      const isNamed = (error: unknown) =>
        error instanceof BrowserMissing && error.message.includes(`PREPAINT_CHROMIUM: ${chromium}`)
      await assert.rejects(findBrowser({ chromium, dataDir: dir }), isNamed)
    }
  })

  it('a headless shell before a Chromium, wherever they lie', async () => {
    const chromium = await program('one/chromium')
    await program('two/google-chrome')
    const systemDirs = ['one', 'two'].map((name) => path.join(dir, name))
    const executable = async () =>
      (await findBrowser({ chromium: null, dataDir: dir, systemDirs })).executable
    assert.equal(await executable(), chromium)
    const shell = await program('two/chromium-headless-shell')
    assert.equal(await executable(), shell)
  })
})

it('the packaged browser is unpacked once, said so, and whole: two at the same time share it', async () => {
  const said: string[] = []
  const options = { chromium: null, dataDir: path.join(dir, 'data'), systemDirs: [] }
  const find = () => findBrowser({ ...options, onLongStep: (line) => said.push(line) })
  const [one, other] = await Promise.all([find(), find()])
  assert.deepEqual(one, other)
  assert.equal(one.source, 'packaged')
  assert.match(said.join(), /Unpacking Chromium/)
  const { size, mode } = await stat(one.executable)
  assert(size > 100_000_000)
  assert.equal(mode & 0o111, 0o111)
  assert((await readdir(one.libraryDir!)).includes('libnss3.so'))
  assert.deepEqual(await readdir(path.dirname(one.fontsDir!)), [path.basename(one.fontsDir!)])
  said.length = 0
  await find()
  assert.deepEqual(said, [])
})
