import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PeopleFirst } from './people-first.ts'

it('browsers yield from ten requests in a second on, and no longer at nine', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const yielding: boolean[] = []
  let answered = 100
  const watch = new PeopleFirst(() => answered, { yieldCores: (yes) => void yielding.push(yes) })
  for (const more of [10, 9, 0, 11]) {
    answered += more
    t.mock.timers.tick(1_000)
  }
  assert.deepEqual(yielding, [true, false, false, true])
  await watch.close()
  t.mock.timers.tick(1_000)
  assert.equal(yielding.length, 4)
})
