import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { bitString, commonName, ECDSA_WITH_SHA256, integer, pem, sequence, utcTime } from './der.ts'

export type SelfSigned = {
  privateKey: KeyObject
  certificate: string
  publicKeyInfo: Buffer
}

/** Creates a key pair and a certificate for `name` that the key itself has signed. */
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
