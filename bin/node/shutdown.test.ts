import assert from 'node:assert/strict'
import { afterEach, beforeEach, it, mock } from 'node:test'
import { exitOnSignal, watchForShutdown } from './shutdown.ts'

let exits: unknown[]
let ending: ReturnType<typeof watchForShutdown>
beforeEach(() => {
  exits = []
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  mock.method(process, 'exit', (code: unknown) => exits.push(code))
})
afterEach(() => {
  ending.unwatch()
  mock.reset()
  mock.timers.reset()
})

const signalled = (signal: NodeJS.Signals) => process.emit(signal, signal)

it('asks to end at the first signal, takes it for the same for half a second, ends at once at the next', async () => {
  ending = watchForShutdown({ underNpm: false })
  assert.equal(ending.signal.aborted, false)
  signalled('SIGTERM')
  assert.equal(await ending.requested, 'SIGTERM')
  assert.equal(ending.signal.aborted, true)
  mock.timers.tick(499)
  // A group is signalled, and npm passes the signal on.
  signalled('SIGTERM')
  assert.deepEqual(exits, [])
  mock.timers.tick(1)
  signalled('SIGTERM')
  assert.deepEqual(exits, [1])
})

it('under npm, a SIGTERM right after Ctrl-C is a second signal', () => {
  ending = watchForShutdown({ underNpm: true })
  signalled('SIGINT')
  signalled('SIGTERM')
  assert.deepEqual(exits, [1])
})

it('before anything has begun, a signal ends it well; after that it asks', () => {
  exitOnSignal()
  signalled('SIGTERM')
  assert.deepEqual(exits, [0])
  ending = watchForShutdown({ underNpm: false })
  signalled('SIGTERM')
  assert.deepEqual(exits, [0], 'asked, not ended')
})
