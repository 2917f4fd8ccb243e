import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestFleet, testFleet } from '../../../test/support/certificate-fleet.ts'
import { findHttpChallenge, publishChallenge, withdrawChallenges } from './challenge.ts'

const TOKEN = 'a'.repeat(32)

describe('the proof on the plain port', () => {
  let fleet: TestFleet
  let domain: Awaited<ReturnType<TestFleet['addDomain']>>
  before(async () => {
    fleet = await testFleet()
    domain = await fleet.addDomain('mine.example')
    await fleet.addDomain('other.example')
  })
  after(() => fleet.close())
  const find = (host: string, token = TOKEN) => findHttpChallenge(fleet.pool, host, token)
  const publish = (token: string, keyAuthorization: string, kind: 'http-01' | 'tls-alpn-01' = 'http-01') =>
    publishChallenge(fleet.pool, domain, { kind, token, keyAuthorization })

  it('is given for its own host and token only', async () => {
    await publish(TOKEN, 'proof')
    await publish('b'.repeat(32), 'within the handshake', 'tls-alpn-01')
    assert.equal(await find('mine.example'), 'proof')
    assert.equal(await find('other.example'), null)
    assert.equal(await find('nobody.example'), null)
    assert.equal(await find('mine.example', 'b'.repeat(32)), null)
  })

  it('is replaced by the next one, ends by itself, and goes when it is withdrawn', async () => {
    const next = 'c'.repeat(32)
    await publish(next, 'next')
    assert.equal(await find('mine.example'), null)
    assert.equal(await find('mine.example', next), 'next')
    await fleet.pool.query('update acme_challenge set expires_at = clock_timestamp()')
    assert.equal(await find('mine.example', next), null)
    await publish(next, 'next')
    await withdrawChallenges(fleet.pool, domain)
    assert.equal(await find('mine.example', next), null)
  })
})
