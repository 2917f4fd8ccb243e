/** The proof on the plain port. */
import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { testFleet } from '../../../test/support/certificate-fleet.ts'
import { findHttpChallenge, publishChallenge, withdrawChallenges } from './challenge.ts'

const TOKEN = 'a'.repeat(32)
const fleet = await testFleet()
after(() => fleet.close())
const domain = await fleet.addDomain('mine.example')
await fleet.addDomain('other.example')
const find = (host: string, token = TOKEN) => findHttpChallenge(fleet.pool, host, token)
const publish = (token: string, keyAuthorization: string, kind: 'http-01' | 'tls-alpn-01' = 'http-01') =>
  publishChallenge(fleet.pool, domain, { kind, token, keyAuthorization })

it('is given for its own host and token only', async () => {
  await publish(TOKEN, 'proof')
  await publish('b'.repeat(32), 'within the handshake', 'tls-alpn-01')
  assert.equal(await find('mine.example'), 'proof')
  for (const host of ['other.example', 'nobody.example']) assert.equal(await find(host), null)
  assert.equal(await find('mine.example', 'b'.repeat(32)), null)
})

it('is replaced by the next one, ends by itself, and goes when it is withdrawn', async () => {
  const next = 'c'.repeat(32)
  await publish(next, 'next')
  assert.deepEqual([await find('mine.example'), await find('mine.example', next)], [null, 'next'])
  await fleet.pool.query('update acme_challenge set expires_at = clock_timestamp()')
  assert.equal(await find('mine.example', next), null)
  await publish(next, 'next')
  await withdrawChallenges(fleet.pool, domain)
  assert.equal(await find('mine.example', next), null)
})
