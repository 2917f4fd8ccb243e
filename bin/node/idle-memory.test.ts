import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { IdleMemory, ProcessHeap } from './idle-memory.ts'

const MIB = 1024 * 1024

function open(t: TestContext, { busyPart = 0, youngBytes = 4 * MIB } = {}) {
  const process = { busyPart, youngBytes, residentBytes: 160 * MIB, collections: 0 }
  const memory = new IdleMemory({
    takeBusyPart: () => process.busyPart,
    countYoungBytes: () => process.youngBytes,
    countResidentBytes: () => process.residentBytes,
    collect: () => {
      process.collections++
    },
  })
  t.after(() => memory.close())
  return { memory, process }
}

describe('the memory of a busy time', () => {
  it('is given back when the main thread is idle', (t) => {
    const { memory, process } = open(t, { busyPart: 0.03 })
    memory.check()
    assert.equal(process.collections, 0)
    process.busyPart = 0.029
    memory.check()
    assert.equal(process.collections, 1)
  })

  it('is left alone if the young generation has hardly grown', (t) => {
    const { memory, process } = open(t, { youngBytes: 4 * MIB - 1 })
    memory.check()
    assert.equal(process.collections, 0)
  })

  it('is given back every five minutes at most, which are 150 checks', (t) => {
    const { memory, process } = open(t)
    for (let checks = 0; checks < 151; checks++) memory.check()
    assert.equal(process.collections, 1)
    memory.check()
    assert.equal(process.collections, 2)
  })

  it('is given back half a minute after the last time if the process has grown by an eighth since', (t) => {
    const { memory, process } = open(t)
    memory.check()
    process.residentBytes = 180 * MIB
    for (let checks = 0; checks < 14; checks++) memory.check()
    assert.equal(process.collections, 1)
    memory.check()
    assert.equal(process.collections, 2)
    for (let checks = 0; checks < 100; checks++) memory.check()
    assert.equal(process.collections, 2, 'what stays in use is not collected again')
    process.residentBytes = 202.5 * MIB - 1
    memory.check()
    assert.equal(process.collections, 2)
  })
})

it('a young generation that has grown is small after the collection', () => {
  const heap = new ProcessHeap()
  const kept: object[] = []
  for (let at = 0; heap.countYoungBytes() < 4 * MIB; at++) kept[at % 100_000] = { at, list: [at] }
  heap.collect()
  assert(heap.countYoungBytes() < 4 * MIB)
})
