import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { Gathering } from './gathering.ts'
import { STREAM_LIMITS, Streams } from './streams.ts'

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

it('gathering keeps each thing once, and several paths of a domain as null', () => {
  const gathering = new Gathering()
  for (const n of [1, 1, 2]) gathering.addJobs(id(n))
  for (const path of ['1 /a', '1 /a', '2 /a', '2 /b', '2 /a']) {
    const [domain, where] = path.split(' ')
    gathering.addInvalidation(`{"domain":${domain},"path":"${where}"}`)
  }
  gathering.addInvalidation('{"domain":3,"prefix":"/a"}')
  const { jobs, pages } = gathering.take()
  assert.deepEqual([...jobs], [id(1), id(2)])
  assert.deepEqual(Object.fromEntries(pages), { 1: '/a', 2: null, 3: null })
  assert.equal(gathering.isEmpty, true)
})

it('a payload that is not understood, or one thing over the limit, marks the gathered as overflown and adds nothing', () => {
  const gathering = new Gathering(3)
  for (const n of [1, 2, 3]) gathering.addJobs(id(n))
  assert.equal(gathering.take().overflown, false)
  for (const n of [1, 2, 3, 4, 5]) gathering.addJobs(id(n))
  const { jobs, overflown } = gathering.take()
  assert.deepEqual([jobs.size, overflown], [3, true])
  gathering.addInvalidation('{"something":"new"}')
  assert.equal(gathering.take().overflown, true)
})

it('a client that disconnects before its key is found takes no stream', () => {
  const streams = new Streams('node', STREAM_LIMITS)
  const gone = { destroyed: true, writableLength: 0, write() {}, end() {}, destroy() {}, once() {} }
  const subscriber = { account: 1 as AccountId, domains: null, by: { key: 1 }, fleet: false, person: null }
  const opened = streams.open(subscriber, () => gone, false)
  assert.deepEqual([opened, streams.count], ['gone', 0])
})
