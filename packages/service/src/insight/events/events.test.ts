import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { createGathering } from './gathering.ts'
import { createStreams, STREAM_LIMITS } from './streams.ts'

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

it('keeps each thing once, and more paths of a domain as "more than one"', () => {
  const gathering = createGathering()
  for (const n of [1, 1, 2]) gathering.job(id(n))
  for (const path of ['1 /a', '1 /a', '2 /a', '2 /b', '2 /a']) {
    const [domain, where] = path.split(' ')
    gathering.invalidation(`{"domain":${domain},"path":"${where}"}`)
  }
  gathering.invalidation('{"domain":3,"prefix":"/a"}')
  const { jobs, pages } = gathering.take()
  assert.deepEqual([...jobs], [id(1), id(2)])
  assert.deepEqual(Object.fromEntries(pages), { 1: '/a', 2: null, 3: null })
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

it('a reader who has gone before his key was found takes no stream', () => {
  const streams = createStreams('node', STREAM_LIMITS)
  const gone = { destroyed: true, writableLength: 0, write() {}, end() {}, destroy() {}, once() {} }
  const subscriber = { account: 1 as AccountId, by: { key: 1 }, fleet: false }
  const opened = streams.open(subscriber, () => gone, false)
  assert.deepEqual([opened, streams.count], ['gone', 0])
})
