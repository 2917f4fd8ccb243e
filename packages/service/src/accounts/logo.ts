import { LOGO_LIMIT_BYTES, LOGO_LIMIT_PIXELS } from '@prepaint/contract/api/branding.ts'
import { invalidField } from '@prepaint/contract/errors.ts'

export type Logo = { type: 'image/png' | 'image/webp'; bytes: Buffer }

type Size = { width: number; height: number }

/** Checks a picture by its bytes, whatever it is called. Throws `invalid_field`. */
export function parseLogo(bytes: Buffer): Logo {
  const png = pngSize(bytes)
  const size = png ?? webpSize(bytes)
  if (size === null) throw invalidField(['logo'], 'must be PNG or WebP')
  if (bytes.length > LOGO_LIMIT_BYTES) {
    throw invalidField(['logo'], `must have at most ${LOGO_LIMIT_BYTES / 1_024} KiB`)
  }
  if (size.width > LOGO_LIMIT_PIXELS || size.height > LOGO_LIMIT_PIXELS) {
    throw invalidField(['logo'], 'must be at most 1,024 pixels wide and high')
  }
  return { type: png === null ? 'image/webp' : 'image/png', bytes }
}

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
/** Length, type and checksum of a chunk, beside its data. */
const PNG_CHUNK_FRAME = 12

/** PNG, third edition, section 5: a header, data and an end, and nothing else. Returns null for anything else. */
function pngSize(bytes: Buffer): Size | null {
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return null
  let size: Size | null = null
  let hasData = false
  for (let at = 8; at + PNG_CHUNK_FRAME <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    const next = at + PNG_CHUNK_FRAME + length
    if (next > bytes.length) return null
    if (size === null) {
      if (type !== 'IHDR' || length !== 13) return null
      size = sizeOf(bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12))
      if (size === null) return null
    }
    if (type === 'IDAT') hasData = true
    if (type === 'IEND') return hasData && next === bytes.length ? size : null
    at = next
  }
  return null
}

/** WebP (RFC 9649, section 2). Returns null for anything else. */
function webpSize(bytes: Buffer): Size | null {
  if (bytes.length < 30) return null
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return null
  // The length of what follows, rounded up to an even number.
  const length = bytes.readUInt32LE(4) + 8
  if (bytes.length !== length && bytes.length !== length + 1) return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ': {
      // RFC 6386, section 9.1: a key frame begins with these bytes.
      const isKeyFrame = (bytes[20]! & 1) === 0 && bytes.readUIntBE(23, 3) === 0x9d012a
      return isKeyFrame ? sizeOf(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff) : null
    }
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return null
      const bits = bytes.readUInt32LE(21)
      return sizeOf((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return sizeOf(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1)
    default:
      return null
  }
}

function sizeOf(width: number, height: number): Size | null {
  return width > 0 && height > 0 ? { width, height } : null
}
