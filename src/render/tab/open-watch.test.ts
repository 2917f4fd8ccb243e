import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { killUnlessOpened, OPEN_LIMIT_MS } from './tab-pool.ts'

/** A browser whose answer comes when it is told to, and a clock that is told to go on. */
function watch(t: TestContext) {
  t.mock.timers.reset()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const killed: string[] = []
  const kill = async (why: string) => {
    killed.push(why)
    return why
  }
  const opened = killUnlessOpened({ answers: () => promise, kill })
  const tick = (ms: number) => {
    t.mock.timers.tick(ms)
    return new Promise(setImmediate)
  }
  const answer = (does: boolean) => {
    resolve(does)
    return tick(0)
  }
  return { killed, opened, answer, tick }
}

it('a browser that opens no page is ended if it does not answer; if it does, it has the same time again', async (t) => {
  const silent = watch(t)
  await silent.answer(false)
  await silent.tick(OPEN_LIMIT_MS)
  assert.deepEqual(silent.killed, ['could not open a page'])

  const { killed, answer, tick } = watch(t)
  await tick(2 * OPEN_LIMIT_MS)
  await answer(true)
  await tick(OPEN_LIMIT_MS - 1)
  assert.deepEqual(killed, [])
  await tick(1)
  assert.deepEqual(killed, ['could not open a page'])
})

it('one that has opened its page late is left alone', async (t) => {
  const { killed, opened, answer, tick } = watch(t)
  await tick(OPEN_LIMIT_MS)
  opened()
  await answer(false)
  await tick(OPEN_LIMIT_MS)
  assert.deepEqual(killed, [])
})
