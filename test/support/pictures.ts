import { crc32, deflateSync } from 'node:zlib'

/** A PNG of so many pixels, all of one colour. `padding`: bytes of a text chunk. */
export function pngOf(
  width: number,
  height: number,
  { rgb = [15, 109, 94], padding = 0 }: { rgb?: readonly number[]; padding?: number } = {},
): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits for each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8)
  const line = Buffer.concat([
    Buffer.of(0),
    Buffer.concat(Array.from({ length: width }, () => Buffer.from(rgb))),
  ])
  const data = deflateSync(Buffer.concat(Array.from({ length: height }, () => line)))
  const parts = [Buffer.from('89504e470d0a1a0a', 'hex'), chunkOf('IHDR', header)]
  if (padding > 0) parts.push(chunkOf('tEXt', Buffer.alloc(padding, 'a')))
  parts.push(chunkOf('IDAT', data), chunkOf('IEND', Buffer.alloc(0)))
  return Buffer.concat(parts)
}

function chunkOf(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/** The head of a lossless WebP of so many pixels: enough for its size to be read. */
export function webpOf(width: number, height: number, padding = 8): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(25 + padding)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write('WEBPVP8L', 8, 'latin1')
  bytes.writeUInt32LE(bytes.length - 20, 16)
  bytes[20] = 0x2f
  bytes.writeUInt32LE((width - 1) | ((height - 1) << 14), 21)
  return bytes
}
