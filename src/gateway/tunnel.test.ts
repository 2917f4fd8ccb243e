import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { it } from 'node:test'
import { tunnel } from './tunnel.ts'

/** One end of a connection: what was written to it is in `written`, once `release` is called. */
class Side extends Duplex {
  written = ''
  release = () => {}
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.release = () => {
      this.written += String(chunk)
      done()
    }
  }
}

it('delivers what the far side sent before it closed, also to a slow reader', async () => {
  const [near, far] = [new Side(), new Side()]
  tunnel(near, far, { receive: () => true, idleTimeoutMs: 5_000 })
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
