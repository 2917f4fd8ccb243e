import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
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
} from '@prepaint/runtime/der.ts'
import { alternativeNames } from '../../packages/service/src/certificates/acme/signing-request.ts'

export type TestLeaf = ReturnType<ReturnType<typeof createTestCa>['leaf']>

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

type Signer = { name: string; keys: { privateKey: KeyObject } }

/** `parent`: the authority that signs this intermediate one. */
export function createTestCa(name = 'Prepaint test CA', nowMs = Date.now(), parent: Signer | null = null) {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const life = [nowMs - 30 * DAY_MS, nowMs + 3_650 * DAY_MS] as const
  const certificate = signed(parent ?? { name, keys }, name, keys.publicKey, life, [
    sequence(objectId('2.5.29.19'), TRUE, octetString(sequence(TRUE))), // basicConstraints: CA
    sequence(objectId('2.5.29.14'), octetString(octetString(AUTHORITY_KEY_ID))),
  ])

  return {
    name,
    keys,
    certificate,
    authorityKeyId: AUTHORITY_KEY_ID,
    leaf(options: LeafOptions = {}) {
      const { names = ['shop.example.com'], usage } = options
      const { notBeforeMs = nowMs - DAY_MS, notAfterMs = nowMs + 90 * DAY_MS } = options
      const own = options.keys ?? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const publicKey = options.publicKey ?? own.publicKey
      const extensions = [
        alternativeNames(names),
        sequence(objectId('2.5.29.35'), octetString(sequence(implicit(0, AUTHORITY_KEY_ID)))),
      ]
      if (usage !== undefined)
        extensions.push(sequence(objectId('2.5.29.37'), octetString(sequence(objectId(usage)))))
      const life = [notBeforeMs, notAfterMs] as const
      const leaf = signed({ name, keys }, names[0] ?? 'nobody', publicKey, life, extensions)
      const key = own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
      return { chain: leaf + (parent === null ? '' : certificate), key, certificate: leaf }
    },
  }
}

function signed(
  by: Signer,
  subject: string,
  publicKey: KeyObject,
  [fromMs, toMs]: readonly [number, number],
  extensions: readonly Buffer[],
): string {
  const part = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    commonName(by.name),
    sequence(utcTime(fromMs), utcTime(toMs)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, der(0x30, ...extensions)),
  )
  const signature = sign('sha256', part, by.keys.privateKey)
  return pem('CERTIFICATE', sequence(part, ECDSA_WITH_SHA256, bitString(signature)))
}
