import assert from 'node:assert/strict'
import { it } from 'node:test'
import { within } from './within.ts'

it('within returns what the promise settles to, or `late` when the time is up, and ignores a later failure', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  assert.equal(await within(1_000, Promise.resolve('in time'), 'late'), 'in time')
  await assert.rejects(within(1_000, Promise.reject(new Error('failed')), 'late'), /failed/)
  const { promise, reject } = Promise.withResolvers<string>()
  const result = within(1_000, promise, 'late')
  t.mock.timers.tick(999)
  assert.equal(await Promise.race([result, Promise.resolve('waits')]), 'waits')
  t.mock.timers.tick(1)
  assert.equal(await result, 'late')
  reject(new Error('too late'))
})

it('a time that is over gives up at once, without a warning of Node', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  assert.equal(await within(-125.78, new Promise(() => {}), 'late'), 'late')
  process.off('warning', note)
  assert.deepEqual(warnings, [])
})
