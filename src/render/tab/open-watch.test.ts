import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { killUnlessOpened, OPEN_LIMIT_MS } from './tab-pool.ts'

/** A browser whose answer comes when it is told to, and a clock that is told to go on. */
function watched(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { promise, resolve: answer } = Promise.withResolvers<boolean>()
  const killed: string[] = []
  const kill = async (why: string) => {
    killed.push(why)
    return why
  }
  const opened = killUnlessOpened({ answers: () => promise, kill })
  const settle = () => new Promise(setImmediate)
  return {
    killed,
    opened,
    answer: (does: boolean) => {
      answer(does)
      return settle()
    },
    tick: (ms: number) => {
      t.mock.timers.tick(ms)
      return settle()
    },
  }
}

it('a browser that opens no page is ended if it does not answer; if it does, it has the same time again', async (t) => {
  const silent = watched(t)
  await silent.answer(false)
  await silent.tick(OPEN_LIMIT_MS)
  assert.deepEqual(silent.killed, ['could not open a page'])
  t.mock.timers.reset()

  const { killed, answer, tick } = watched(t)
  await tick(2 * OPEN_LIMIT_MS)
  assert.deepEqual(killed, [])
  await answer(true)
  await tick(OPEN_LIMIT_MS - 1)
  assert.deepEqual(killed, [])
  await tick(1)
  assert.deepEqual(killed, ['could not open a page'])
})

it('one that has opened its page late is left alone', async (t) => {
  const late = watched(t)
  await late.tick(OPEN_LIMIT_MS)
  late.opened()
  await late.answer(false)
  await late.tick(OPEN_LIMIT_MS)
  assert.deepEqual(late.killed, [])
})
