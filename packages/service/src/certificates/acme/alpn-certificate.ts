import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'

import {
  bitString,
  commonName,
  ECDSA_WITH_SHA256,
  explicit,
  integer,
  objectId,
  octetString,
  pem,
  sequence,
  TRUE,
  utcTime,
} from '@prepaint/runtime/der.ts'
import { alternativeNames } from './signing-request.ts'

/** RFC 8737, section 4. */
export const ACME_TLS = 'acme-tls/1'

const DAY_MS = 86_400_000

export function alpnDigest(keyAuthorization: string): Buffer {
  return createHash('sha256').update(keyAuthorization).digest()
}

/** Self-signed certificate for tls-alpn-01 (RFC 8737, section 3), with a temporary key. */
export function alpnContext(name: string, keyAuthorization: string, nowMs: number): SecureContext {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const acmeIdentifier = sequence(
    objectId('1.3.6.1.5.5.7.1.31'),
    TRUE,
    octetString(octetString(alpnDigest(keyAuthorization))),
  )
  const signedPart = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    commonName('Prepaint challenge'),
    sequence(utcTime(nowMs - DAY_MS), utcTime(nowMs + DAY_MS)),
    commonName('Prepaint challenge'),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(alternativeNames([name]), acmeIdentifier)),
  )
  const certificate = sequence(
    signedPart,
    ECDSA_WITH_SHA256,
    bitString(sign('sha256', signedPart, privateKey)),
  )
  return createSecureContext({
    cert: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  })
}
