import { createPublicKey, type KeyObject, sign } from 'node:crypto'

import {
  bitString,
  ECDSA_WITH_SHA256,
  explicit,
  implicit,
  integer,
  objectId,
  octetString,
  sequence,
  setOf,
} from '@prepaint/runtime/der.ts'

/** subjectAltName (RFC 5280, section 4.2.1.6). */
export function alternativeNames(names: readonly string[]): Buffer {
  return sequence(
    objectId('2.5.29.17'),
    octetString(sequence(...names.map((name) => implicit(2, Buffer.from(name, 'ascii'))))),
  )
}

/** PKCS #10 (RFC 2986) in DER: empty subject, the name as subjectAltName. `key`: ECDSA P-256. */
export function signingRequest(name: string, key: KeyObject): Buffer {
  const extensions = sequence(
    objectId('1.2.840.113549.1.9.14'), // extensionRequest
    setOf(sequence(alternativeNames([name]))),
  )
  const signedPart = sequence(
    integer(Buffer.of(0)),
    sequence(),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    explicit(0, extensions),
  )
  return sequence(signedPart, ECDSA_WITH_SHA256, bitString(sign('sha256', signedPart, key)))
}
