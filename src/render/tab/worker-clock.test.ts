import assert from 'node:assert/strict'
import { it } from 'node:test'

import type { RenderClock } from '../time/virtual-clock.ts'
import { inStepWith, type Wake } from './workers.ts'

/** A clock whose grants are used up at once, unless `stands`; in `told` with what workers are asked. */
function clockWith(workerCount: number, answer: 'timers' | 'no timers' | 'never' = 'timers') {
  const told: string[] = []
  const never = new Promise<never>(() => {})
  const state = { stands: false }
  const clock: RenderClock = {
    async pause() {},
    async grant(policy, budgetMs) {
      told.push(`${policy} ${budgetMs}`)
      return { expired: state.stands ? never : Promise.resolve('expired') }
    },
  }
  const ask: Wake = () => {
    told.push('wake')
    return answer === 'never' ? never : Promise.resolve(answer === 'timers')
  }
  const workers = Array.from({ length: workerCount }, () => ask)
  return { told, state, workers, clock }
}

/** For so long workers are waited for. */
const activityWith = (leftMs: number) => ({ workersLeftMs: () => leftMs, clockMoved() {} })

it('without workers the clock jumps', async () => {
  const { told, workers, clock } = clockWith(0)
  const { expired } = await inStepWith(() => workers, clock, activityWith(0))('advance', 5_000)
  assert.equal(await expired, 'expired')
  assert.deepEqual(told, ['advance 5000'])
})

it('where timers of workers wait it goes in steps, each of which wakes all, and a moment more for their last words', async () => {
  const { told, workers, clock } = clockWith(2)
  const { expired } = await inStepWith(() => workers, clock, activityWith(1_000))('advance', 250)
  assert.equal(await expired, 'expired')
  const woken = ['wake', 'wake']
  const steps = [...woken, 'advance 100', ...woken, 'advance 100', ...woken, 'advance 50', ...woken]
  assert.deepEqual(told, [...steps, 'advance 1'])
})

it('where none waits, in one', async () => {
  const { told, workers, clock } = clockWith(1, 'no timers')
  const { expired } = await inStepWith(() => workers, clock, activityWith(1_000))('advance', 5_000)
  assert.equal(await expired, 'expired')
  assert.deepEqual(told, ['wake', 'advance 5000', 'wake', 'advance 1'])
})

it('a worker that computes is waited for as long as there is time for it', async () => {
  for (const [leftMs, expected] of [
    [1, ['wake', 'advance 5', 'wake', 'advance 1']],
    [0, ['advance 5', 'advance 1']],
  ] as const) {
    const { told, workers, clock } = clockWith(1, 'never')
    const { expired } = await inStepWith(() => workers, clock, activityWith(leftMs))('advance', 5)
    assert.equal(await expired, 'expired')
    assert.deepEqual(told, expected)
  }
})

it('no step of a grant follows the next grant', async () => {
  const { told, state, workers, clock } = clockWith(1)
  const grant = inStepWith(() => workers, clock, activityWith(1_000))
  state.stands = true
  await grant('advance', 5_000)
  await new Promise(setImmediate)
  state.stands = false
  workers.length = 0
  await grant('pauseIfNetworkFetchesPending', 7)
  await new Promise(setImmediate)
  assert.deepEqual(told, ['wake', 'advance 100', 'pauseIfNetworkFetchesPending 7'])
})
