import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { startTestAcme } from '../../../test/support/acme-server.ts'
import { createAcmeSession } from './session.ts'
import { createTransport } from './transport.ts'

it('the CA is told of another e-mail address, also where the account is there, and only then', async (t) => {
  const acme = await startTestAcme({ http: 1, tls: 1 })
  t.after(() => acme.close())
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const transport = createTransport({ userAgent: 'test', ca: acme.ca })
  const { signal } = new AbortController()
  const order = { identifiers: [{ type: 'dns', value: 'shop.example' }] }
  for (const email of ['old@example.com', 'old@example.com', null, 'new@example.com']) {
    const options = { directoryUrl: acme.directoryUrl, email, transport, nowMs: () => 0 }
    const session = createAcmeSession(key, options)
    await session.post((await session.directory(signal)).newOrder, order, signal)
  }
  assert.deepEqual(acme.contacts, [['mailto:old@example.com'], ['mailto:new@example.com']])
  assert.equal(acme.orders.length, 4)
})
