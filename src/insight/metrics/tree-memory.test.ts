import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { it } from 'node:test'

import { treeMemory } from './tree-memory.ts'

it('the memory of a process counts with that of its children, and their children', async () => {
  const before = treeMemory().node
  assert(before > 10_000_000)
  // 64 MB in a grandchild.
  const grandchild = `const held = Buffer.alloc(64e6, 1); console.log('there'); setInterval(() => held, 1e6)`
  const child = spawn(
    process.execPath,
    [
      '-e',
      `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { stdio: 'inherit' })`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  )
  try {
    await once(child.stdout, 'data')
    const seen = treeMemory()
    assert(seen.node > before + 64_000_000, `${before} -> ${seen.node}`)
    assert.deepEqual([seen.browsers, seen.database], [0, 0])
  } finally {
    process.kill(-child.pid!, 'SIGKILL')
    await once(child, 'exit')
  }
})

it('a process that is gone has no memory', () => {
  assert.deepEqual(treeMemory(2 ** 30), { node: 0, browsers: 0, database: 0 })
})
