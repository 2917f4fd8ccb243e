import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { alternativeNames } from '../../src/certificates/acme/signing-request.ts'
import {
  bitString,
  commonName,
  der,
  ECDSA_WITH_SHA256,
  explicit,
  implicit,
  integer,
  objectId,
  octetString,
  pem,
  sequence,
  TRUE,
  utcTime,
} from '../../src/der.ts'

export type TestLeaf = { chain: string; key: string; certificate: string }

export type LeafOptions = {
  names?: readonly string[]
  notBeforeMs?: number
  notAfterMs?: number
  publicKey?: KeyObject
  keys?: { privateKey: KeyObject; publicKey: KeyObject }
  usage?: string
}

const DAY_MS = 86_400_000
const AUTHORITY_KEY_ID = Buffer.from('prepaint-test-authority!')

export type TestCa = {
  name: string
  keys: { privateKey: KeyObject; publicKey: KeyObject }
  certificate: string
  authorityKeyId: Buffer
  leaf(options?: LeafOptions): TestLeaf
}

/** `parent`: the authority that signs this intermediate one. */
export function createTestCa(
  name = 'Prepaint test CA',
  nowMs = Date.now(),
  parent: TestCa | null = null,
): TestCa {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certificate = signed({
    subject: name,
    issuer: parent?.name ?? name,
    publicKey: keys.publicKey,
    signer: parent?.keys.privateKey ?? keys.privateKey,
    notBeforeMs: nowMs - 30 * DAY_MS,
    notAfterMs: nowMs + 3_650 * DAY_MS,
    extensions: [
      sequence(objectId('2.5.29.19'), TRUE, octetString(sequence(TRUE))), // basicConstraints: CA
      sequence(objectId('2.5.29.14'), octetString(octetString(AUTHORITY_KEY_ID))),
    ],
  })

  return {
    name,
    keys,
    certificate,
    authorityKeyId: AUTHORITY_KEY_ID,
    leaf(options: LeafOptions = {}): TestLeaf {
      const {
        names = ['shop.example.com'],
        notBeforeMs = nowMs - DAY_MS,
        notAfterMs = nowMs + 90 * DAY_MS,
      } = options
      const own = options.keys ?? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const leaf = signed({
        subject: names[0] ?? 'nobody',
        issuer: name,
        publicKey: options.publicKey ?? own.publicKey,
        signer: keys.privateKey,
        notBeforeMs,
        notAfterMs,
        extensions: [
          alternativeNames(names),
          sequence(objectId('2.5.29.35'), octetString(sequence(implicit(0, AUTHORITY_KEY_ID)))),
          ...(options.usage === undefined ? [] : [usageExtension(options.usage)]),
        ],
      })
      const key = own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
      return { chain: leaf + (parent === null ? '' : certificate), key, certificate: leaf }
    },
  }
}

const usageExtension = (usage: string) =>
  sequence(objectId('2.5.29.37'), octetString(sequence(objectId(usage))))

function signed(of: {
  subject: string
  issuer: string
  publicKey: KeyObject
  signer: KeyObject
  notBeforeMs: number
  notAfterMs: number
  extensions: readonly Buffer[]
}): string {
  const publicKey = of.publicKey.type === 'private' ? createPublicKey(of.publicKey) : of.publicKey
  const part = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    commonName(of.issuer),
    sequence(utcTime(of.notBeforeMs), utcTime(of.notAfterMs)),
    commonName(of.subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, der(0x30, ...of.extensions)),
  )
  return pem('CERTIFICATE', sequence(part, ECDSA_WITH_SHA256, bitString(sign('sha256', part, of.signer))))
}
