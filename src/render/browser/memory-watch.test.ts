/** The limit itself, to the byte; what pages make of it is in `limits.test.ts`. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { afterEach, describe, it } from 'node:test'

import { watchBusyPages, watchMemory } from './browser-watch.ts'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A process of a group of its own that is called what Chromium calls its pages, and does nothing. */
async function startPage(): Promise<{ child: ChildProcess; pid: number; bytes: number }> {
  const child = spawn('/bin/sh', ['-c', 'echo; read nothing', 'sh', '--type=renderer'], { detached: true })
  children.push(child)
  await once(child.stdout, 'data')
  const pid = child.pid!
  for (let last = -1; ; ) {
    const bytes = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4_096
    // It has come to rest in its `read`.
    if (bytes === last && / S /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')))
      return { child, pid, bytes }
    last = bytes
    await new Promise((next) => setTimeout(next, 20))
  }
}

describe('memory of a page', () => {
  it('at the limit it lives; one byte over, it is ended, and that is told once', async (t) => {
    const [at, over] = [await startPage(), await startPage()]
    const watches = [watchMemory(at.pid, at.bytes), watchMemory(over.pid, over.bytes - 1)]
    t.after(() => {
      for (const watch of watches) watch.stop()
    })
    const [, signal] = (await once(over.child, 'exit')) as [null, string]
    assert.equal(signal, 'SIGKILL')
    assert.equal(at.child.exitCode ?? at.child.signalCode, null)
    assert.deepEqual(
      watches.map((watch) => [watch.hasKilled(), watch.hasKilled()]),
      [
        [false, false],
        [true, false],
      ],
    )
  })

  it('only of the group that is watched, and only what is a page', async (t) => {
    const [mine, other] = [await startPage(), await startPage()]
    const first = spawn('/bin/sh', ['-c', 'echo; read nothing'], { detached: true })
    children.push(first)
    await once(first.stdout, 'data')
    const watches = [watchMemory(first.pid!, 0), watchMemory(mine.pid, 0)]
    t.after(() => {
      for (const watch of watches) watch.stop()
    })
    await once(mine.child, 'exit')
    assert.equal(other.child.signalCode, null)
    assert.equal(first.signalCode, null)
  })
})

describe('processor time of a page', () => {
  it('one that never pauses gets a lower priority, one that waits keeps its own', async (t) => {
    const waits = await startPage()
    const loops = spawn('/bin/sh', ['-c', 'while :; do :; done', 'sh', '--type=renderer'], { detached: true })
    children.push(loops)
    const watches = [watchBusyPages(waits.pid), watchBusyPages(loops.pid!)]
    t.after(() => {
      for (const watch of watches) watch.stop()
    })
    const usual = getPriority(waits.pid)
    while (getPriority(loops.pid!) === usual) await new Promise((next) => setTimeout(next, 50))
    assert.deepEqual([getPriority(waits.pid), getPriority(loops.pid!)], [usual, 10])
  })
})
