import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { problemText } from '@prepaint/contract/problem.ts'
import { pem, readDer } from '@prepaint/runtime/der.ts'
import { createTestCa, type LeafOptions } from '../../../../test/support/certificate-authority.ts'
import { certificateFacts, checkCertificate, keyPem } from './certificate.ts'

const nowMs = Date.UTC(2026, 10, 21)
const DAY_MS = 86_400_000
const root = createTestCa('root', nowMs)
const middle = createTestCa('middle', nowMs, root)
const NAME = 'shop.example.com'

function check(options: LeafOptions = {}, change: { chain?: string; key?: string; nowMs?: number } = {}) {
  const { chain, key } = middle.leaf(options)
  return checkCertificate({ chain, key, name: NAME, nowMs, ...change })
}

const GOOD = 'it is good'
const reasonOf = (checked: ReturnType<typeof check>) => (checked.ok ? GOOD : problemText(checked.problem))
const NOT_ITS_KEY = 'private_key is not the key of the certificate'

it('a certificate is taken with its chain, whole or without the root, and for a wildcard', () => {
  for (const names of [['*.example.com'], ['other.example.com', NAME]]) {
    const checked = check({ names, usage: '1.3.6.1.5.5.7.3.1' })
    assert(checked.ok, reasonOf(checked))
    assert.equal(checked.certificate.notAfterMs, nowMs + 90 * DAY_MS)
    assert.equal(checked.certificate.chain.match(/BEGIN/g)?.length, 2)
  }
  const leaf = middle.leaf()
  const whole = checkCertificate({ ...leaf, chain: leaf.chain + root.certificate, name: NAME, nowMs })
  assert(whole.ok, reasonOf(whole))
  assert(checkCertificate({ ...root.leaf(), name: NAME, nowMs }).ok)
})

it('a certificate tells what everybody may know', () => {
  const facts = certificateFacts(middle.leaf({ names: [NAME, 'www.example.com'] }).chain)
  assert.deepEqual(facts.names, [NAME, 'www.example.com'])
  assert.equal(facts.issuer, 'CN=middle')
  assert.equal(facts.key, 'EC prime256v1')
  assert.match(facts.fingerprint, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
})

// Proves decided "Own certificates"
it('a certificate is refused for another name', () => {
  const reason = /^certificate_chain .* for shop\.example\.com: it is for example\.com$/
  assert.match(reasonOf(check({ names: ['example.com'] })), reason)
  for (const names of [['*.com', '*.shop.example.com'], ['sh*.example.com']])
    assert.match(reasonOf(check({ names })), /does not begin with a certificate for/)
})

it('a certificate is refused when it has ended or not begun, at the limit and one past', () => {
  const at = (ms: number) =>
    reasonOf(check({ notBeforeMs: nowMs - DAY_MS, notAfterMs: nowMs + DAY_MS }, { nowMs: nowMs + ms }))
  assert.deepEqual([at(DAY_MS - 1), at(-DAY_MS)], [GOOD, GOOD])
  assert.match(at(DAY_MS), /^certificate_chain has ended on 2026-11-22/)
  assert.match(at(-DAY_MS - 1), /is not valid before 2026-11-20/)
})

it('a certificate is refused with a key that is not its own, or none, or too weak, or encrypted', () => {
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const pem = { type: 'pkcs8', format: 'pem' } as const
  const encrypted = stranger.export({ ...pem, cipher: 'aes-256-cbc', passphrase: 'x' }) as string
  assert.equal(reasonOf(check({}, { key: stranger.export(pem) as string })), NOT_ITS_KEY)
  assert.match(reasonOf(check({}, { key: 'secret' })), /^private_key must be a private key in PEM/)
  assert.match(reasonOf(check({}, { key: encrypted })), /^private_key is encrypted/)
  const rsa = (modulusLength: number) => check({ keys: generateKeyPairSync('rsa', { modulusLength }) })
  assert.equal(reasonOf(rsa(2_048)), GOOD)
  assert.match(reasonOf(rsa(1_024)), /^private_key must be RSA with 2048/)
  const exotic = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  assert.match(reasonOf(check({ keys: exotic })), /^private_key must be RSA/)
})

it('a certificate is refused with a key that names the public key of the certificate and is another', () => {
  const [own, other] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
  const secret = (key = own!) => Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')
  const der = own!.export({ type: 'pkcs8', format: 'der' })
  secret(other).copy(der, der.indexOf(secret()))
  const keys = { privateKey: own!, publicKey: createPublicKey(own!) }
  assert.equal(reasonOf(check({ keys }, { key: keyPem(der) })), NOT_ITS_KEY)
})

it('a certificate is refused with a time that cannot be read, also of the last one, which nobody here vouches for', () => {
  const { key, certificate } = middle.leaf()
  const [part] = readDer(Buffer.from(middle.certificate.replace(/-----[^-]+-----|\s/g, ''), 'base64'))
  const bytes = part!.whole
  // The month of its end.
  bytes.write('99', bytes.lastIndexOf(Buffer.of(0x17, 13)) + 4, 'ascii')
  const reason = reasonOf(check({}, { chain: certificate + pem('CERTIFICATE', bytes), key }))
  assert.equal(reason, 'certificate_chain holds a time that cannot be read')
})

it('a certificate is refused when its chain is out of order, foreign, too long or no chain, or not for servers', () => {
  const { certificate, chain } = middle.leaf()
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const own = middle.leaf({ keys })
  const with_ = (text: string) => reasonOf(check({}, { chain: text, key: own.key }))
  assert.match(with_(middle.certificate + own.certificate), /does not begin with a certificate for/)
  assert.match(with_(own.certificate + root.certificate), /certificate 1 is not signed by certificate 2/)
  assert.match(with_(own.certificate + certificate), /number 2 is none/)
  assert.match(with_(`${own.chain}\nhello`), /in PEM, and nothing else/)
  assert.match(with_(own.key + chain), /in PEM, and nothing else/)
  assert.match(with_(''), /in PEM/)
  assert.match(with_('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'), /cannot be read/)
  // A root signs itself, as often as one likes.
  const long = (count: number) => own.chain + root.certificate.repeat(count - 2)
  assert(check({ keys }, { chain: long(10), key: own.key }).ok)
  assert.match(with_(long(11)), /at most 10 certificates/)
  assert.match(reasonOf(check({ usage: '1.3.6.1.5.5.7.3.2' })), /is not for servers/)
})
