import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { WebSocketGoodbye } from './websocket-goodbye.ts'

const GOODBYE = '880203e9'

function frame(bytes: number): Buffer {
  const payload = Buffer.alloc(bytes, 'p')
  if (bytes < 126) return Buffer.concat([Buffer.from([0x82, bytes]), payload])
  const head = bytes < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10)
  head[0] = 0x82
  head[1] = bytes < 65_536 ? 126 : 127
  if (bytes < 65_536) head.writeUInt16BE(bytes, 2)
  else head.writeBigUInt64BE(BigInt(bytes), 2)
  return Buffer.concat([head, payload])
}

async function collected(stream: WebSocketGoodbye): Promise<string> {
  return Buffer.concat((await stream.toArray()) as Buffer[]).toString('hex')
}

describe('the goodbye of a WebSocket', () => {
  it('comes at once between two frames', async () => {
    const stream = new WebSocketGoodbye()
    stream.write(frame(3))
    stream.leave()
    assert.equal(await collected(stream), `${frame(3).toString('hex')}${GOODBYE}`)
  })

  for (const bytes of [0, 1, 125, 126, 65_535, 65_536]) {
    for (const cut of [1, 2, 3, 9, 11]) {
      it(`comes behind a frame of ${bytes} bytes that is under way, of which ${cut} came`, async () => {
        const stream = new WebSocketGoodbye()
        const whole = frame(bytes)
        const first = whole.subarray(0, cut)
        const rest = whole.subarray(cut)
        stream.write(first)
        stream.leave()
        // The next frame is not for the client any more.
        if (rest.length > 0) stream.write(Buffer.concat([rest, frame(5)]))
        assert.equal(await collected(stream), `${whole.toString('hex')}${GOODBYE}`)
      })
    }
  }

  it('byte by byte, all is passed on unchanged', async () => {
    const stream = new WebSocketGoodbye()
    const all = Buffer.concat([frame(0), frame(200), frame(3), frame(70_000)])
    const got = collected(stream)
    for (const byte of all) stream.write(Buffer.from([byte]))
    stream.end()
    assert.equal(await got, all.toString('hex'))
  })
})
