/** The limit itself, to the byte; what pages make of it is in `limits.test.ts`. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../../../test/support/condition.ts'
import { BusyPages, MemoryWatch, stillAnswers } from './browser-watch.ts'

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
  let last = -1
  const bytes = await until('it has come to rest in its `read`', () => {
    const before = last
    last = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4_096
    return last === before && / S /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')) ? last : null
  })
  return { child, pid, bytes }
}

describe('memory of a page', () => {
  it('at the limit it lives; one byte over, it is ended, and that is told once', async (t) => {
    const [at, over] = [await startPage(), await startPage()]
    const watches = [new MemoryWatch(at.pid, at.bytes), new MemoryWatch(over.pid, over.bytes - 1)]
    t.after(() => watches.forEach((watch) => void watch.stop()))
    const [, signal] = (await once(over.child, 'exit')) as [null, string]
    assert.equal(signal, 'SIGKILL')
    assert.equal(at.child.exitCode ?? at.child.signalCode, null)
    const told = watches.map((watch) => `${watch.takeKill()}, then ${watch.takeKill()}`)
    assert.deepEqual(told, ['false, then false', 'true, then false'])
  })

  it('only of the group that is watched, and only what is a page', async (t) => {
    const [mine, other] = [await startPage(), await startPage()]
    const first = spawn('/bin/sh', ['-c', 'echo; read nothing'], { detached: true })
    children.push(first)
    await once(first.stdout, 'data')
    const watches = [new MemoryWatch(first.pid!, 0), new MemoryWatch(mine.pid, 0)]
    t.after(() => watches.forEach((watch) => void watch.stop()))
    await once(mine.child, 'exit')
    assert.equal(other.child.signalCode, null)
    assert.equal(first.signalCode, null)
  })
})

it('processor time of a page: one that never pauses gets a lower priority, one that waits keeps its own', async (t) => {
  const waits = await startPage()
  const loops = spawn('/bin/sh', ['-c', 'while :; do :; done', 'sh', '--type=renderer'], { detached: true })
  children.push(loops)
  const watches = [new BusyPages(waits.pid), new BusyPages(loops.pid!)]
  t.after(() => watches.forEach((watch) => void watch.stop()))
  const usual = getPriority(waits.pid)
  await until('it has a lower priority', () => getPriority(loops.pid!) !== usual)
  assert.deepEqual([getPriority(waits.pid), getPriority(loops.pid!)], [usual, 19])
})

const LIMIT_MS = 60
const never = new Promise(() => {})

describe('whether a process still answers', () => {
  it('no, when it has ended, or gives no answer and does no work', async () => {
    const answer = Promise.reject(new Error('gone'))
    assert.equal(await stillAnswers({ answer, processorMs: () => 0 }), false)
    assert.equal(await stillAnswers({ answer: never, processorMs: () => 70 }, LIMIT_MS), false)
  })

  it('while it works it gets five times as long, and no longer', async () => {
    let looks = 0
    const processorMs = () => ++looks
    assert.equal(await stillAnswers({ answer: never, processorMs }, LIMIT_MS), false)
    assert.equal(looks, 10)
    const late = { answer: delay(LIMIT_MS * 2), processorMs: () => performance.now() }
    assert.equal(await stillAnswers(late, LIMIT_MS), true)
  })
})
