import assert from 'node:assert/strict'
import { afterEach, beforeEach, it, mock } from 'node:test'
import { exitOnSignal, watchForShutdown } from './shutdown.ts'

let exits: unknown[]
beforeEach(() => {
  exits = []
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  mock.method(process, 'exit', (code: unknown) => exits.push(code))
})
afterEach(() => {
  mock.reset()
  mock.timers.reset()
})

const signalled = (signal: NodeJS.Signals) => process.emit(signal, signal)

it('asks to end at the first signal, and ends at once at the second', async () => {
  const ending = watchForShutdown({ underNpm: false })
  assert.equal(ending.signal.aborted, false)
  signalled('SIGINT')
  assert.equal(await ending.requested, 'SIGINT')
  assert.equal(ending.signal.aborted, true)
  assert.deepEqual(exits, [])
  mock.timers.tick(500)
  signalled('SIGINT')
  assert.deepEqual(exits, [1])
  ending.unwatch()
})

it('takes a signal that comes twice at once, by a group and by npm, for one, and a later one for another', () => {
  const ending = watchForShutdown({ underNpm: true })
  signalled('SIGTERM')
  mock.timers.tick(499)
  signalled('SIGTERM')
  assert.deepEqual(exits, [])
  mock.timers.tick(1)
  signalled('SIGTERM')
  assert.deepEqual(exits, [1])
  ending.unwatch()
})

it('under npm, a SIGTERM right after Ctrl-C is a second signal', () => {
  const ending = watchForShutdown({ underNpm: true })
  signalled('SIGINT')
  signalled('SIGTERM')
  assert.deepEqual(exits, [1])
  ending.unwatch()
})

it('before anything has begun, a signal ends it well; after that it asks', () => {
  exitOnSignal()
  signalled('SIGTERM')
  assert.deepEqual(exits, [0])
  const ending = watchForShutdown({ underNpm: false })
  signalled('SIGTERM')
  assert.deepEqual(exits, [0], 'asked, not ended')
  ending.unwatch()
})
