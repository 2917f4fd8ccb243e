import assert from 'node:assert/strict'
import { once } from 'node:events'
import tls from 'node:tls'

// HTTP/2 frames (RFC 9113, section 6) that no client would send.

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  continuation: 9,
}
export const END_STREAM = 0x1
export const END_HEADERS = 0x4
export const ENHANCE_YOUR_CALM = 0xb

export type Frame = { type: number; flags: number; stream: number; payload: Buffer }

export async function rawHttp2(port: number, servername = 'red.example') {
  const socket = tls.connect({
    ...{ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ALPNProtocols: ['h2'] },
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await once(socket, 'secureConnect')
  const frames: Frame[] = []
  let rest = Buffer.alloc(0)
  socket.on('data', (part: Buffer) => {
    rest = Buffer.concat([rest, part])
    while (rest.length >= 9) {
      const length = rest.readUIntBE(0, 3)
      if (rest.length < 9 + length) break
      frames.push({
        ...{ type: rest[3]!, flags: rest[4]!, stream: rest.readUInt32BE(5) & 0x7fffffff },
        payload: rest.subarray(9, 9 + length),
      })
      rest = rest.subarray(9 + length)
    }
  })
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  const send = (...list: Buffer[]) => socket.write(Buffer.concat(list))
  send(frame(FRAME.settings, 0, 0))
  const until = async (wanted: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const found = frames.find(wanted)
      if (found !== undefined) return found
      await Promise.race([once(socket, 'data'), closed.then(() => Promise.reject(new Error('it closed')))])
    }
  }
  return { socket, frames, closed, send, until }
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A header block of literals without indexing (RFC 7541, section 6.2.2). */
export function headerBlock(headers: readonly [string, string][]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

export function get(stream: number, path: string, more: readonly [string, string][] = []): Buffer {
  const pseudo: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'red.example'],
    [':path', path],
  ]
  return frame(FRAME.headers, END_STREAM | END_HEADERS, stream, headerBlock([...pseudo, ...more]))
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([0, id]), uint32(value)])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  // More takes another byte of length (RFC 7541, section 5.1).
  assert(bytes.length < 127)
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}
