import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createGathering } from './gathering.ts'

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

it('keeps each thing once, and more paths of a domain as "more than one"', () => {
  const gathering = createGathering()
  assert.equal(gathering.pending(), false)
  for (const n of [1, 1, 2]) gathering.job(id(n))
  gathering.job('not an id')
  for (const path of ['1 /a', '1 /a', '2 /a', '2 /b', '2 /a', '3 /a']) {
    const [domain, where] = path.split(' ')
    gathering.invalidation(`{"domain":${domain},"path":"${where}"}`)
  }
  for (const rest of ['"domain":3,"prefix":"/a"', '"host":"a.example"', '"account":7']) {
    gathering.invalidation(`{${rest}}`)
  }
  for (const warm of ['4', 'x']) gathering.warm(warm)
  for (const domains of ['4,6', '6', 'x']) gathering.visited(domains)
  assert.equal(gathering.pending(), true)
  const { jobs, pages, hosts, accounts, warms, visited, jobsEnded, overflown } = gathering.take()
  assert.deepEqual([...jobs], [id(1), id(2)])
  assert.equal(jobsEnded, 4)
  assert.deepEqual(
    [...pages],
    [
      [1, '/a'],
      [2, null],
      [3, null],
    ],
  )
  assert.deepEqual([[...hosts], [...accounts], [...warms], overflown], [['a.example'], [7], [4], false])
  assert.deepEqual([...visited], [4, 6])
  assert.equal(gathering.pending(), false)
})

it('what is not understood, or one thing too many, makes all uncertain, and nothing grows', () => {
  const gathering = createGathering(3)
  for (const n of [1, 2, 3]) gathering.job(id(n))
  assert.equal(gathering.take().overflown, false)
  for (const n of [1, 2, 3, 4, 5]) gathering.job(id(n))
  const { jobs, overflown } = gathering.take()
  assert.deepEqual([jobs.size, overflown], [3, true])
  gathering.invalidation('{"something":"new"}')
  assert.equal(gathering.take().overflown, true)
})
