import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, it } from 'node:test'
import { createAddressGuard } from '@prepaint/outbound'
import ipaddr from 'ipaddr.js'
import { testFleet } from '../../../../../test/support/certificate-fleet.ts'
import { serve } from '../../../../../test/support/loopback.ts'
import { type Challenge, findHttpChallenge, publishChallenge, withdrawChallenges } from '../acme/challenge.ts'
import { reachesUs } from './reachability.ts'

/** The one name that every machine has at an address of its own. */
const NAME = 'localhost'
const NEVER = new AbortController().signal

const fleet = await testFleet()
after(() => fleet.close())
const node = await fleet.node()
const domain = await fleet.addDomain(NAME)
const guard = createAddressGuard(
  ['127.0.0.0/8', '::1/128'].map((cidr) => ({ cidr: ipaddr.parseCIDR(cidr), port: null })),
)

const publish = async (challenge: Challenge) => {
  await publishChallenge(fleet.pool, domain, challenge)
  await node.listener.caughtUp()
}
const look = (ports: { http: number; tls: number }, name = NAME, by = guard, timeoutMs = 10_000) =>
  reachesUs(by, name, publish, NEVER, { ports, timeoutMs })

it('a name that leads here is proved at the plain port', async () => {
  assert.deepEqual(await look(node.ports), { kind: 'http-01' })
})

it('a name is proved by TLS where the plain port is closed or is another server', async () => {
  assert.deepEqual(await look({ ...node.ports, http: 1 }), { kind: 'tls-alpn-01' })
  const { port, close } = await serve((_req, res) => res.end('hello'))
  assert.deepEqual(await look({ ...node.ports, http: port }), { kind: 'tls-alpn-01' })
  const neither = await look({ http: port, tls: port })
  assert('unreachable' in neither)
  assert.match(neither.unreachable, /^localhost leads to a server that is not this service/)
  await close()
})

it('a server that repeats what it is asked is not us, nor one that is slow', async () => {
  const parrot = await serve((req, res) => {
    if (req.url?.startsWith('/.well-known/acme-challenge/')) res.end(req.url.repeat(3))
  })
  assert('unreachable' in (await look({ http: parrot.port, tls: 1 })))
  const silent = await serve(() => {})
  assert('unreachable' in (await look({ http: silent.port, tls: 1 }, NAME, guard, 500)))
  for (const { close } of [parrot, silent]) await close()
})

it('a name leads here only if each of its addresses at which a server answers does', async (t) => {
  const lookup = async () => ['127.0.0.1', '127.0.0.2']
  const options = { ports: node.ports, timeoutMs: 5_000, lookup }
  const by = () => reachesUs(guard, NAME, publish, NEVER, options)
  assert.deepEqual(await by(), { kind: 'http-01' }, 'nobody is at the other')
  const other = http.createServer((_req, res) => res.end('hello')).listen(node.ports.http, '127.0.0.2')
  t.after(() => other.close())
  await once(other, 'listening')
  assert.deepEqual(await by(), { kind: 'tls-alpn-01' })
  const third = http.createServer().listen(node.ports.tls, '127.0.0.2')
  t.after(() => third.close())
  await once(third, 'listening')
  assert.deepEqual(await by(), {
    unreachable: 'localhost leads to this service, but also to another server at 127.0.0.2',
  })
})

it('a name without an address, or with one that is not public, does not lead here', async () => {
  const inner = await look(node.ports, NAME, createAddressGuard([]))
  assert.deepEqual(inner, { unreachable: 'localhost leads to an address that is not public' })
  const none = await look(node.ports, 'no-such-name.invalid')
  assert.deepEqual(none, { unreachable: 'no-such-name.invalid has no address in the DNS' })
})

it('a proof on the plain port is given for its own host and token only', async () => {
  const [plain, inTls, next] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string]
  const mine = await fleet.addDomain('mine.example')
  await fleet.addDomain('other.example')
  const publish = (token: string, keyAuthorization: string, kind: Challenge['kind'] = 'http-01') =>
    publishChallenge(fleet.pool, mine, { kind, token, keyAuthorization })
  const find = (token: string, host = 'mine.example') => findHttpChallenge(fleet.pool, host, token)
  await publish(plain, 'proof')
  await publish(inTls, 'within the handshake', 'tls-alpn-01')
  assert.deepEqual([await find(plain), await find(inTls)], ['proof', null])
  for (const host of ['other.example', 'nobody.example']) assert.equal(await find(plain, host), null)

  await publish(next, 'next')
  assert.deepEqual([await find(plain), await find(next)], [null, 'next'], 'it is replaced by the next one')
  await fleet.pool.query('update acme_challenge set expires_at = clock_timestamp()')
  assert.equal(await find(next), null, 'it ends by itself')
  await publish(next, 'next')
  await withdrawChallenges(fleet.pool, mine)
  assert.equal(await find(next), null)
})
