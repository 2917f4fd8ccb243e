import assert from 'node:assert/strict'
import { it } from 'node:test'

import { silentLog } from '../../src/log.ts'
import { createClosingStack } from './closing-stack.ts'

it('closes in reverse, all of it also when one part fails, against one deadline', async () => {
  let nowMs = 1_000
  const closed: string[] = []
  const stack = createClosingStack({ clock: { nowMs: () => nowMs }, log: silentLog() })
  stack.add('database', async ({ remainingMs }) => {
    closed.push(`database ${remainingMs()}`)
  })
  stack.add('listener', async () => {
    throw new Error('already gone')
  })
  stack.add('edge', async ({ remainingMs }) => {
    closed.push(`edge ${remainingMs()}`)
    nowMs += 7_000
  })
  await stack.closeAll(10_000)
  assert.deepEqual(closed, ['edge 10000', 'database 3000'])
  await stack.closeAll(10_000)
  assert.equal(closed.length, 2, 'what is closed is not closed again')
})
