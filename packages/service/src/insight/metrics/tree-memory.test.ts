import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { treeMemory } from './tree-memory.ts'

const residentBytes = (pid: number) =>
  Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4_096

it('the memory of the tree counts what its processes share once', {
  skip: process.platform !== 'linux',
}, async () => {
  const before = await treeMemory()
  assert(before.node > 1_000_000)
  // Four more processes of the same program share its code.
  const script = `process.stdout.write('.'); setInterval(() => {}, 1_000)`
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  try {
    await Promise.all(children.map(({ stdout }) => once(stdout, 'data')))
    const after = await treeMemory()
    const resident = children.reduce((sum, { pid }) => sum + residentBytes(pid!), residentBytes(process.pid))
    assert(after.node > before.node, 'the children are counted')
    assert(after.node < resident, 'what they share is not counted five times')
  } finally {
    for (const child of children) child.kill()
  }
})
