import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'

import { createIdleConnections } from './idle-connections.ts'

describe('idle connections', () => {
  let nowMs = 0
  const start = () => {
    const idle = createIdleConnections({ nowMs: () => nowMs })
    const connection = (target = 'a:80') => {
      const made = new PassThrough()
      idle.know(made, target)
      return made
    }
    return { idle, connection }
  }

  it('are ended when all of them have been idle for so long, and only those of the target', () => {
    const { idle, connection } = start()
    const [one, two, other] = [connection(), connection(), connection('b:80')]
    for (const each of [one, two, other]) idle.begins(each)
    nowMs += 1_999
    idle.drop('a:80', 2_000)
    assert.deepEqual([one.destroyed, two.destroyed], [false, false])
    nowMs += 1
    idle.drop('a:80', 2_000)
    assert.deepEqual([one.destroyed, two.destroyed, other.destroyed], [true, true, false])
  })

  it('stay when the one that would be taken next was used lately', () => {
    const { idle, connection } = start()
    const [old, young] = [connection(), connection()]
    idle.begins(old)
    nowMs += 5_000
    idle.begins(young)
    idle.drop('a:80', 2_000)
    assert.deepEqual([old.destroyed, young.destroyed], [false, false])
  })

  it('that are in use again are left alone', () => {
    const { idle, connection } = start()
    const used = connection()
    idle.begins(used)
    idle.ends(used)
    idle.drop('a:80', 0)
    assert.equal(used.destroyed, false)
  })
})
