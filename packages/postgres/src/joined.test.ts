import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { until } from '../../../test/support/condition.ts'
import { joined } from './joined.ts'

type Input = { of: number; name: string; isWanted?: boolean }

/** Joins calls to statements that end when the test says so. Lists the names of each. */
function start({ most, underWay }: { most: number; underWay: number }) {
  const statements: string[][] = []
  const ends: (() => void)[] = []
  const ask = joined(
    (inputs: readonly Input[]) => {
      statements.push(inputs.map(({ name }) => name))
      const { promise, resolve } = Promise.withResolvers<string[]>()
      ends.push(() => resolve(inputs.map(({ name }) => name)))
      return promise
    },
    { most, underWay, turnOf: ({ of }) => of, isWanted: ({ isWanted = true }) => isWanted },
  )
  const endNext = async () => {
    const after = statements.length + 1
    ends.shift()?.()
    await until('the next statement begins', () => statements.length === after)
  }
  return { ask, statements, ends, endNext }
}

describe('calls that share statements', () => {
  it('take turns by key: many calls of one key delay a call of another by one statement at most', async () => {
    const { ask, statements, ends, endNext } = start({ most: 2, underWay: 1 })
    const flood = Array.from({ length: 6 }, (_, at) => ask({ of: 1, name: `flood ${at}` }))
    await until('the first statement begins', () => statements.length === 1)
    const late = ask({ of: 2, name: 'late' })
    await endNext()
    assert.deepEqual(statements, [
      ['flood 0', 'flood 1'],
      ['flood 2', 'late'],
    ])
    await endNext()
    await endNext()
    ends.shift()?.()
    assert.equal(await late, 'late')
    assert.deepEqual(await Promise.all(flood), [
      'flood 0',
      'flood 1',
      'flood 2',
      'flood 3',
      'flood 4',
      'flood 5',
    ])
  })

  it('are not begun if nobody wants them any more when their turn comes', async () => {
    const { ask, statements, ends, endNext } = start({ most: 2, underWay: 1 })
    const first = ask({ of: 1, name: 'first' })
    await until('the first statement begins', () => statements.length === 1)
    const gone: Input = { of: 1, name: 'gone' }
    const left = [ask(gone), ask(gone), ask(gone)].map((asked) => assert.rejects(asked, Abandoned))
    const last = ask({ of: 1, name: 'last' })
    gone.isWanted = false
    await endNext()
    await Promise.all(left)
    ends.shift()?.()
    assert.deepEqual(await Promise.all([first, last]), ['first', 'last'])
    assert.deepEqual(statements, [['first'], ['last']])
  })

  it('end although none of those that wait is wanted, and later calls begin', async () => {
    const { ask, statements, ends } = start({ most: 2, underWay: 1 })
    const first = ask({ of: 1, name: 'first' })
    await until('the first statement begins', () => statements.length === 1)
    const left = assert.rejects(ask({ of: 1, name: 'gone', isWanted: false }), Abandoned)
    ends.shift()?.()
    await Promise.all([first, left])
    const later = ask({ of: 1, name: 'later' })
    await until('it begins', () => statements.length === 2)
    ends.shift()?.()
    assert.equal(await later, 'later')
  })
})
