import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { startTestAcme } from '../../../test/support/acme-server.ts'
import { createAcmeSession } from './session.ts'
import { createTransport } from './transport.ts'

it('the CA is told of another e-mail address, also where the account is there, and only then', async () => {
  const acme = await startTestAcme({ http: 1, tls: 1 })
  try {
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const { signal } = new AbortController()
    const begin = async (email: string | null) => {
      const session = createAcmeSession(key, {
        directoryUrl: acme.directoryUrl,
        email,
        transport: createTransport({ userAgent: 'test', ca: acme.ca }),
        nowMs: () => 0,
      })
      const { newOrder } = await session.directory(signal)
      await session.post(newOrder, { identifiers: [{ type: 'dns', value: 'shop.example' }] }, signal)
    }
    await begin('old@example.com')
    assert.deepEqual(acme.contacts, [['mailto:old@example.com']])
    for (const email of ['old@example.com', null]) await begin(email)
    assert.equal(acme.contacts.length, 1)
    await begin('new@example.com')
    assert.deepEqual(acme.contacts.at(-1), ['mailto:new@example.com'])
    assert.equal(acme.orders.length, 4)
  } finally {
    await acme.close()
  }
})
