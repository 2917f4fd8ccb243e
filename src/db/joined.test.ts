import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { joined } from './joined.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const rejection = (code: string) => Object.assign(new Error(`database error ${code}`), { code })

/** Statements wait for `go`, unless `isFree`. */
function statements(options: Parameters<typeof joined<string, string>>[1], isFree = true) {
  const batches: string[] = []
  const held: (() => void)[] = []
  const call = joined<string, string>(async (inputs) => {
    batches.push(inputs.join(' '))
    if (!isFree) await new Promise<void>((resolve) => held.push(resolve))
    const bad = inputs.find((input) => /^\d/.test(input))
    if (bad !== undefined) throw rejection(bad)
    return inputs.map((input) => input.toUpperCase())
  }, options)
  return { batches, call, go: () => held.shift()!() }
}

describe('joined calls', () => {
  it('of one turn share a statement with so many inputs, and each gets its own output', async () => {
    const { batches, call } = statements({ most: 3 })
    assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map(call)), ['A', 'B', 'C', 'D'])
    assert.deepEqual(batches, ['a b c', 'd'])
  })

  it('wait while so many statements of their group run, and share the next', async () => {
    const { batches, call, go } = statements({ most: 9, underWay: 1, groupOf: (name) => name[0]! }, false)
    const all = [call('a1')]
    await turn()
    all.push(call('a2'), call('b1'))
    await turn()
    all.push(call('a3'))
    await turn()
    assert.deepEqual(batches, ['a1', 'b1'])
    go()
    await turn()
    await turn()
    assert.deepEqual(batches, ['a1', 'b1', 'a2 a3'])
    go()
    go()
    assert.deepEqual(await Promise.all(all), ['A1', 'A2', 'B1', 'A3'])
  })

  it('suffer nothing from the content of another one', async () => {
    const { batches, call } = statements({ most: 9 })
    const ends = await Promise.allSettled(['a', '22P05', 'b', '23503'].map(call))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    )
    assert.equal(batches.length, 5)
  })

  it('fail together where the database fails, and later ones do not', async () => {
    const { batches, call } = statements({ most: 9, underWay: 1 })
    const ends = await Promise.allSettled(['a', '57P01'].map(call))
    assert.deepEqual([ends.map(({ status }) => status), batches.length], [['rejected', 'rejected'], 1])
    assert.equal(await call('b'), 'B')
  })
})
