import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'

export type GatewayKey = {
  secureContext: SecureContext
  /** The certificate (PEM). Public: Chromium is shown it in each handshake. */
  certificate: string
  /** Base64 of the SHA-256 of the public key, for `--ignore-certificate-errors-spki-list`. */
  spkiHash: string
}

/**
 * A key pair and a self-signed certificate for the life of this process. The
 * private key is written nowhere and handed to nobody but OpenSSL; Chromium is
 * told the hash of the public one, so the names and dates in the certificate
 * bear no meaning, and one certificate serves every custom domain.
 */
export function createGatewayKey(): GatewayKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' })

  // RFC 5280, section 4.1. Version 1: no extensions.
  const signedPart = sequence(
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    NAME,
    sequence(utcTime('200101000000Z'), utcTime('491231235959Z')),
    NAME,
    publicKeyInfo,
  )
  const signature = sign('sha256', signedPart, privateKey)
  const certificate = pem('CERTIFICATE', sequence(signedPart, ECDSA_WITH_SHA256, bitString(signature)))
  return {
    certificate,
    secureContext: createSecureContext({
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: certificate,
      minVersion: 'TLSv1.3',
    }),
    spkiHash: createHash('sha256').update(publicKeyInfo).digest('base64'),
  }
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

/** CN=Prepaint gateway (2.5.4.3) */
const NAME = sequence(
  der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('Prepaint gateway')))),
)
