import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { it } from 'node:test'

import { until } from '../../test/support/condition.ts'
import { tunnel } from './tunnel.ts'

it('carries bytes both ways, and the end of one side to the other', async () => {
  const { near, far } = joined()
  near.push('ask')
  far.push('answer')
  await until('both have it', () => far.written === 'ask' && near.written === 'answer')
  near.push(null)
  await once(far, 'finish')
  far.push('last')
  far.push(null)
  await Promise.all([once(near, 'close'), once(far, 'close')])
  assert.equal(near.written, 'answerlast')
})

it('delivers what the far side sent before it closed, also to a slow reader', async () => {
  const { near, far } = joined({ hold: true })
  far.push('last words')
  far.push(null)
  await once(far, 'end')
  far.destroy()
  await once(far, 'close')
  assert.deepEqual([near.destroyed, near.written], [false, ''])
  near.release()
  await once(near, 'close')
  assert.equal(near.written, 'last words')
})

it('stops reading from a side that is faster than the other takes', async () => {
  const { near, far } = joined({ hold: true })
  far.push('x'.repeat(100_000))
  await until('it pauses', () => far.isPaused())
  near.release()
  await until('it resumes', () => !far.isPaused())
  assert.equal(near.written.length, 100_000)
})

it('ends when told so, when one side breaks, and when nothing happens', async () => {
  for (const end of [
    ({ far }: Joined) => void far.push('too much'),
    ({ far }: Joined) => void far.destroy(new Error('reset')),
    ({ near }: Joined) => void near.destroy(new Error('reset')),
    ({ near }: Joined) => void near.destroy(),
  ]) {
    const both = joined({ mayGoOn: false })
    const closed = Promise.all([once(both.near, 'close'), once(both.far, 'close')]).catch(() => {})
    end(both)
    await closed
    await until('both ends are gone', () => both.near.destroyed && both.far.destroyed)
    assert.equal(both.near.written, '')
  }
  const silent = joined({ idleTimeoutMs: 10 })
  await Promise.all([once(silent.near, 'close'), once(silent.far, 'close')])
})

type Joined = ReturnType<typeof joined>

function joined({ hold = false, mayGoOn = true, idleTimeoutMs = 5_000 } = {}) {
  const near = new Side(hold)
  const far = new Side(false)
  tunnel(near, far, { receive: () => mayGoOn, idleTimeoutMs })
  return { near, far }
}

/** One end of a connection: what was written to it is in `written`, at once or when released. */
class Side extends Duplex {
  written = ''
  readonly #hold: boolean
  #held: (() => void) | null = null

  constructor(hold: boolean) {
    super()
    this.#hold = hold
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const take = () => {
      this.written += String(chunk)
      done()
    }
    if (this.#hold) this.#held = take
    else take()
  }

  release(): void {
    this.#held?.()
  }
}
