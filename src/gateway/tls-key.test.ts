import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { it } from 'node:test'

import { createGatewayKey } from './tls-key.ts'

it('makes a certificate that is signed by its own key and named by its hash', () => {
  const { certificate, spkiHash } = createGatewayKey()
  const read = new X509Certificate(certificate)
  assert.equal(read.verify(read.publicKey), true)
  assert.equal(read.subject, 'CN=Prepaint gateway')
  assert.equal(read.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  const info = read.publicKey.export({ type: 'spki', format: 'der' })
  assert.equal(spkiHash, createHash('sha256').update(info).digest('base64'))
})

it('makes another key each time', () => {
  assert.notEqual(createGatewayKey().spkiHash, createGatewayKey().spkiHash)
})

it('hands out nothing that holds the private key', () => {
  const key = createGatewayKey()
  assert.deepEqual(Object.keys(key).sort(), ['certificate', 'secureContext', 'spkiHash'])
  assert.doesNotMatch(JSON.stringify(key), /PRIVATE/)
})
