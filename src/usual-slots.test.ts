import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

import { BASE_BYTES, defaultSlots, SLOT_BYTES, thisMachine } from './config.ts'

const GIB = 2 ** 30

describe('default slots', () => {
  it('are half as many again as cores', () => {
    assert.equal(defaultSlots({ cores: 1, memoryBytes: 64 * GIB }), 2)
    assert.equal(defaultSlots({ cores: 2, memoryBytes: 64 * GIB }), 3)
    assert.equal(defaultSlots({ cores: 3, memoryBytes: 64 * GIB }), 5)
    assert.equal(defaultSlots({ cores: 16, memoryBytes: 64 * GIB }), 24)
  })

  it('are as many as fit into memory, to the byte, and at least one', () => {
    const three = BASE_BYTES + 3 * SLOT_BYTES
    assert.equal(defaultSlots({ cores: 8, memoryBytes: three }), 3)
    assert.equal(defaultSlots({ cores: 8, memoryBytes: three - 1 }), 2)
    assert.equal(defaultSlots({ cores: 8, memoryBytes: GIB / 2 }), 1)
    assert.equal(defaultSlots({ cores: 1, memoryBytes: GIB }), 1)
  })
})

describe('what this process may use', () => {
  it('is something', () => {
    const { cores, memoryBytes } = thisMachine()
    assert(cores >= 1 && Number.isInteger(cores))
    assert(memoryBytes > 0 && Number.isFinite(memoryBytes))
  })

  // Only the superuser of a machine can make a control group; which of the two versions there is differs.
  it('is what the container leaves of the machine', (t) => {
    const isSecond = existsSync('/sys/fs/cgroup/cgroup.controllers')
    const group = `/sys/fs/cgroup/${isSecond ? '' : 'memory/'}prepaint-test-${process.pid}`
    try {
      if (!isSecond && !existsSync('/sys/fs/cgroup/memory')) throw new Error('no control groups')
      mkdirSync(group)
      writeFileSync(
        path.join(group, isSecond ? 'memory.max' : 'memory.limit_in_bytes'),
        String(900 * 2 ** 20),
      )
    } catch (error) {
      t.diagnostic(`not tried in a control group: ${(error as Error).message}`)
      if (existsSync(group)) rmdirSync(group)
      return
    }
    const script = `import('${import.meta.dirname}/config.ts').then((m) => console.log(m.thisMachine().memoryBytes, m.defaultSlots(m.thisMachine())))`
    const command = `echo $$ > ${group}/cgroup.procs && exec "${process.execPath}" -e "${script}"`
    const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
    rmdirSync(group)
    assert.equal(stdout.trim(), `${900 * 2 ** 20} 1`, stderr)
  })
})
