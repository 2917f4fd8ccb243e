import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export type SelfSigned = {
  privateKey: KeyObject
  /** PEM */
  certificate: string
  /** DER: what a hash of the public key is made of. */
  publicKeyInfo: Buffer
}

/**
 * An ECDSA key on P-256 and a certificate that it signed for itself. Written out
 * here because node:crypto reads certificates but makes none, and the libraries
 * that do bring fifteen packages for these few bytes.
 */
export function createSelfSigned(commonName: string): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' })
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(commonName)))))

  // RFC 5280, section 4.1. Version 1: no extensions.
  const signedPart = sequence(
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(utcTime('200101000000Z'), utcTime('491231235959Z')),
    name,
    publicKeyInfo,
  )
  const signature = sign('sha256', signedPart, privateKey)
  const certificate = pem('CERTIFICATE', sequence(signedPart, ECDSA_WITH_SHA256, bitString(signature)))
  return { privateKey, certificate, publicKeyInfo }
}

// DER (ITU-T X.690), as much of it as one certificate needs.

function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body])
  const length = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...length), body])
}

function sequence(...content: readonly Buffer[]): Buffer {
  return der(0x30, ...content)
}

/** `bytes` are those of a positive number: the first is below 0x80. */
function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes)
}

function bitString(bytes: Buffer): Buffer {
  return der(0x03, Buffer.of(0), bytes)
}

function utcTime(text: string): Buffer {
  return der(0x17, Buffer.from(text, 'ascii'))
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))

/** 2.5.4.3 */
const COMMON_NAME = der(0x06, Buffer.from('550403', 'hex'))
