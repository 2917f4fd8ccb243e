/** DER (ITU-T X.690) for certificates. node:crypto creates none, and libraries bring 15 packages. */

export function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body])
  const digits: number[] = []
  for (let rest = body.length; rest > 0; rest >>>= 8) digits.unshift(rest & 0xff)
  return Buffer.concat([Buffer.of(tag, 0x80 | digits.length, ...digits), body])
}

export function sequence(...content: readonly Buffer[]): Buffer {
  return der(0x30, ...content)
}

/** Makes a set of one member: several would have to be sorted. */
export function setOf(...content: readonly Buffer[]): Buffer {
  return der(0x31, ...content)
}

/** Encodes a positive number, whose first byte must be below 0x80. */
export function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes)
}

export function bitString(bytes: Buffer): Buffer {
  return der(0x03, Buffer.of(0), bytes)
}

export function octetString(bytes: Buffer): Buffer {
  return der(0x04, bytes)
}

function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text))
}

export const TRUE = der(0x01, Buffer.of(0xff))

/** Puts `[number]` around a tagged value. */
export function explicit(number: number, ...content: readonly Buffer[]): Buffer {
  return der(0xa0 | number, ...content)
}

/** Puts `[number]` in place of the tag of a simple value. */
export function implicit(number: number, bytes: Buffer): Buffer {
  return der(0x80 | number, bytes)
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number)
  const bytes = [40 * first + second, ...others].flatMap((arc) => {
    const digits = [arc & 0x7f]
    for (let rest = arc >>> 7; rest > 0; rest >>>= 7) digits.unshift(0x80 | (rest & 0x7f))
    return digits
  })
  return der(0x06, Buffer.from(bytes))
}

/** Encodes a time of the years 1950 to 2049 to the second (RFC 5280, section 4.1.2.5). */
export function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\.\d+|[-:T]/g, '')
  return der(0x17, Buffer.from(digits.slice(2), 'ascii'))
}

export function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

export const ECDSA_WITH_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'))

export function commonName(text: string): Buffer {
  return sequence(setOf(sequence(objectId('2.5.4.3'), utf8(text))))
}

export type DerValue = {
  tag: number
  content: Buffer
  whole: Buffer
}

/** Returns the consecutive values in `bytes`. Throws RangeError if a length is wrong. */
export function readDer(bytes: Buffer): DerValue[] {
  const values: DerValue[] = []
  for (let at = 0; at < bytes.length; ) {
    const start = at
    const tag = bytes.readUInt8(at)
    let length = bytes.readUInt8(at + 1)
    at += 2
    if (length > 0x80) {
      const digits = length & 0x7f
      length = bytes.readUIntBE(at, digits)
      at += digits
    }
    if (at + length > bytes.length) throw new RangeError('DER ends too early')
    values.push({ tag, content: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) })
    at += length
  }
  return values
}
