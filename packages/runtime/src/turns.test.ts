import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { Turns } from './turns.ts'

const LONG_MS = 1_000

/** Asks for places. Returns the owners in the order in which they got them, and what gives the first one back. */
function openTurns(places: number) {
  const turns = new Turns(places)
  const order: string[] = []
  const held: (() => void)[] = []
  return {
    turns,
    order,
    ask(owner: number, name: string) {
      void turns.enter(owner, LONG_MS).then((leave) => {
        order.push(name)
        held.push(leave!)
      })
    },
    async giveBack() {
      held.shift()!()
      await soon()
    },
  }
}

describe('turns', () => {
  it('an owner alone gets half of the places, and the rest of its work waits', async () => {
    const { ask, order, giveBack } = openTurns(4)
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask(1, name)
    await soon()
    assert.deepEqual(order, ['a1', 'a2'])
    await giveBack()
    assert.deepEqual(order, ['a1', 'a2', 'a3'])
  })

  it('another owner begins at once, whatever waits of the first one, and those that wait take turns', async () => {
    const { ask, order, giveBack } = openTurns(4)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) ask(1, name)
    ask(2, 'b1')
    ask(2, 'b2')
    await soon()
    assert.deepEqual(order, ['a1', 'a2', 'b1'])
    for (let times = 0; times < 4; times++) await giveBack()
    assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5'])
  })

  it('work is refused at once when as much of its owner waits as may, and that of another owner is not', async () => {
    const { turns, ask } = openTurns(4)
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask(1, name)
    await soon()
    assert.equal(await turns.enter(1, LONG_MS, { waitingMost: 2 }), null)
    assert.equal(typeof (await turns.enter(2, LONG_MS, { waitingMost: 2 })), 'function')
  })

  it('work that got no place in time is refused, and takes none later', async () => {
    const { turns, ask, order, giveBack } = openTurns(2)
    ask(1, 'a1')
    assert.equal(await turns.enter(1, 1), null)
    await giveBack()
    ask(1, 'a2')
    await soon()
    assert.deepEqual(order, ['a1', 'a2'])
  })
})
