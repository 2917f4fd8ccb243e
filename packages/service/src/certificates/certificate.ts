import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { Problem } from '@prepaint/contract/problem.ts'

import { pem } from '@prepaint/runtime/der.ts'

export type Certificate = {
  /** PEM, the domain's certificate first, each signed by the next. */
  chain: string
  /** PKCS #8, DER. */
  key: Buffer
  notBeforeMs: number
  notAfterMs: number
}

export type CertificateFacts = {
  names: string[]
  issuer: string
  serial: string
  fingerprint: string
  key: string
}

export type Checked = { ok: true; certificate: Certificate } | { ok: false; problem: Problem }

/** Browser limit; 64 KiB suffice for such chains. */
const MAX_CHAIN = 10

const BLOCKS = /^(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----)+\s*$/
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

/** Accepts self-signed certificates, for use behind a proxy. */
export function checkCertificate(given: {
  chain: string
  key: string
  name: string
  nowMs: number
}): Checked {
  const chain = readChain(given.chain)
  if (typeof chain === 'string') return refused('certificate_chain', chain)
  const key = readKey(given.key)
  if (typeof key === 'string') return refused('private_key', key)

  const [leaf, ...issuers] = chain
  const wrong = leafProblem(leaf, given.name) ?? orderProblem(chain) ?? timeProblem(chain, given.nowMs)
  if (wrong !== null) return refused('certificate_chain', wrong)
  if (!isKeyOf(key, leaf)) return refused('private_key', 'is not the key of the certificate')

  const certificate: Certificate = {
    chain: [leaf, ...issuers].map((each) => each.toString()).join(''),
    key: key.export({ type: 'pkcs8', format: 'der' }),
    notBeforeMs: Math.max(...chain.map((each) => each.validFromDate.getTime())),
    notAfterMs: Math.min(...chain.map((each) => each.validToDate.getTime())),
  }
  try {
    createSecureContext({ cert: certificate.chain, key: keyPem(certificate.key) })
  } catch {
    return refused('certificate_chain', 'cannot be served: its keys or signatures are too weak')
  }
  return { ok: true, certificate }
}

export function keyPem(pkcs8: Buffer): string {
  return pem('PRIVATE KEY', pkcs8)
}

export function certificateFacts(chain: string): CertificateFacts {
  const leaf = new X509Certificate(chain)
  const { asymmetricKeyType = '', asymmetricKeyDetails: details } = leaf.publicKey
  return {
    names: namesOf(leaf),
    issuer: leaf.issuer.replaceAll('\n', ', '),
    serial: leaf.serialNumber,
    fingerprint: leaf.fingerprint256,
    key: `${asymmetricKeyType.toUpperCase()} ${details?.namedCurve ?? details?.modulusLength ?? ''}`.trim(),
  }
}

function readChain(text: string): [X509Certificate, ...X509Certificate[]] | string {
  if (!BLOCKS.test(text)) return 'must be one or more certificates in PEM, and nothing else'
  const blocks = text.match(BLOCK) ?? []
  if (blocks.length > MAX_CHAIN) return `must have at most ${MAX_CHAIN} certificates`
  try {
    const [leaf, ...issuers] = blocks.map((block) => new X509Certificate(block))
    return leaf === undefined ? 'is empty' : [leaf, ...issuers]
  } catch {
    return 'holds a certificate that cannot be read'
  }
}

function readKey(text: string): KeyObject | string {
  if (/ENCRYPTED/.test(text)) return 'is encrypted: give it without a passphrase'
  let key: KeyObject
  try {
    key = createPrivateKey(text)
  } catch {
    return 'must be a private key in PEM'
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const bits = details?.modulusLength ?? 0
  if (type === 'rsa' && 2_048 <= bits && bits <= 8_192) return key
  if (type === 'ec' && CURVES.includes(details?.namedCurve ?? '')) return key
  return 'must be RSA with 2048 to 8192 bits, or ECDSA on P-256, P-384 or P-521'
}

/** Signs to check: OpenSSL compares only public keys, which a key file also contains. */
function isKeyOf(key: KeyObject, leaf: X509Certificate): boolean {
  if (!leaf.checkPrivateKey(key)) return false
  const words = Buffer.from('whose key is this')
  try {
    return verify('sha256', words, leaf.publicKey, sign('sha256', words, key))
  } catch {
    return false
  }
}

function leafProblem(leaf: X509Certificate, name: string): string | null {
  if (leaf.checkHost(name, { subject: 'never', partialWildcards: false }) === undefined) {
    return `does not begin with a certificate for ${name}: it is for ${namesOf(leaf).join(', ') || 'no name'}`
  }
  // Node's `keyUsage` is the extended key usage.
  const usages: readonly string[] | undefined = leaf.keyUsage
  if (usages !== undefined && !usages.includes(SERVER_AUTH))
    return 'is not for servers (TLS web server authentication)'
  return null
}

function orderProblem(chain: readonly X509Certificate[]): string | null {
  for (const [at, certificate] of chain.entries()) {
    const issuer = chain[at + 1]
    if (issuer === undefined) return null
    if (!issuer.ca)
      return `must have only certificates of authorities after the first; number ${at + 2} is none`
    if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) {
      return `is not in order: certificate ${at + 1} is not signed by certificate ${at + 2}`
    }
  }
  return null
}

function timeProblem(chain: readonly X509Certificate[], nowMs: number): string | null {
  for (const { validFrom, validTo, validFromDate, validToDate } of chain) {
    // Comparisons do not reject an invalid date. Of a malformed time Node's Date objects may be any time, the texts are not.
    if (Number.isNaN(Date.parse(validFrom) + Date.parse(validTo))) return 'holds a time that cannot be read'
    if (validToDate.getTime() <= nowMs) return `has ended on ${validToDate.toISOString()}`
    if (validFromDate.getTime() > nowMs) return `is not valid before ${validFromDate.toISOString()}`
  }
  return null
}

function namesOf(certificate: X509Certificate): string[] {
  const entries = certificate.subjectAltName?.split(', ') ?? []
  return entries.flatMap((entry) => (entry.startsWith('DNS:') ? [entry.slice('DNS:'.length)] : []))
}

function refused(field: 'certificate_chain' | 'private_key', message: string): Checked {
  return { ok: false, problem: { path: [field], message } }
}
