import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import {
  bitString,
  commonName,
  ECDSA_WITH_SHA256,
  integer,
  pem,
  sequence,
  utcTime,
} from '@prepaint/runtime/der.ts'

export type GatewayKey = {
  secureContext: SecureContext
  /** PEM */
  certificate: string
  /** Base64 SHA-256 of the public key, for `--ignore-certificate-errors-spki-list`. */
  spkiHash: string
}

/** One key pair per process for all domains. Chromium trusts the key's hash, so names and dates do not matter. */
export function createGatewayKey(): GatewayKey {
  const { privateKey, certificate, publicKeyInfo } = createSelfSigned('Prepaint gateway')
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

type SelfSigned = {
  privateKey: KeyObject
  certificate: string
  publicKeyInfo: Buffer
}

export function createSelfSigned(name: string): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' })

  // RFC 5280, section 4.1. Version 1: no extensions.
  const signedPart = sequence(
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    commonName(name),
    sequence(utcTime(Date.UTC(2020, 0, 1)), utcTime(Date.UTC(2049, 11, 31))),
    commonName(name),
    publicKeyInfo,
  )
  const signature = sign('sha256', signedPart, privateKey)
  const certificate = pem('CERTIFICATE', sequence(signedPart, ECDSA_WITH_SHA256, bitString(signature)))
  return { privateKey, certificate, publicKeyInfo }
}
