import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'
import { type AskOptions, openEdge, PERSON } from '../../../test/support/edge.ts'
import { NO_CLIENT_LIMITS } from '../../http/client-limits.ts'

const TOKEN = 'a'.repeat(43)

const edge = await openEdge({
  parts: {
    findChallenge: async (host, token) => (host === 'red.example' && token === TOKEN ? 'proof' : null),
  },
})

describe('https_redirect', () => {
  /** Of a domain that wants https, a certificate that is valid for so long. */
  const certify = async (ms: number, of = edge) => {
    await of.pool.query(
      `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
       values ($1, 'own', '', '', $2, $3)
       on conflict (domain_id) do update set not_after = excluded.not_after`,
      [of.red, new Date(of.nowMs() - 1_000), new Date(of.nowMs() + ms)],
    )
    await of.settings({ https_redirect: true })
  }
  const ask = async (path: string, asking?: AskOptions) => {
    const { status, headers, verdict } = await edge.ask(path, asking)
    return [status, headers.location, verdict]
  }

  it('without a certificate, nobody is sent anywhere', async () => {
    await edge.settings({ https_redirect: true })
    assert.deepEqual(await ask('/x', { agent: PERSON }), [200, undefined, 'pass; not-a-crawler'])
  })

  // Proves decided "Plain HTTP"
  it('people and crawlers are sent to the same address by https, other methods with what they carry', async () => {
    await certify(60_000)
    const there = 'https://red.example/x?b=1&a=%2F'
    for (const asking of [{ agent: PERSON }, {}, { method: 'HEAD' }, { host: 'RED.example:8080' }]) {
      assert.deepEqual(await ask('/x?b=1&a=%2F', asking), [301, there, 'none; https'])
    }
    const post = { method: 'POST', body: 'a=1', agent: PERSON }
    assert.deepEqual(await ask('/x?b=1&a=%2F', post), [308, there, 'none; https'])
    // A path that would be another host is none once it stands behind ours.
    assert.deepEqual(await ask('//evil.example/'), [301, 'https://red.example//evil.example/', 'none; https'])
  })

  it('also for a page that lies ready', async () => {
    await certify(-1)
    await ask('/ready')
    assert.deepEqual(await ask('/ready'), [200, undefined, 'hit'])
    await certify(60_000)
    await ask('/x', { agent: PERSON })
    assert.deepEqual(await ask('/ready'), [301, 'https://red.example/ready', 'none; https'])
  })

  it('not other domains, and not past the end of the certificate', async () => {
    await certify(60_000)
    const blue = await ask('/x', { host: 'blue.example', agent: PERSON })
    assert.deepEqual(blue, [200, undefined, 'pass; not-a-crawler'])
    edge.wait(59_999)
    assert.equal((await ask('/y', { agent: PERSON }))[0], 301)
    edge.wait(1)
    assert.equal((await ask('/y', { agent: PERSON }))[0], 200)
  })

  it('a proxy that is trusted says by what its client came; whoever else says so is not believed', async (t) => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }
    const forwarded = { headers, agent: PERSON }
    await certify(60_000)
    assert.equal((await ask('/z', forwarded))[0], 301)
    const clients = { ...NO_CLIENT_LIMITS, trustedProxies: [ipaddr.parseCIDR('127.0.0.1/32')] }
    const behind = await openEdge({ clients }, t)
    await certify(86_400_000, behind)
    assert.equal((await behind.ask('/z', { agent: PERSON })).status, 301)
    assert.equal((await behind.ask('/z', forwarded)).status, 200)
  })

  // Proves decided "Plain HTTP"
  it('a CA that asks is answered before all that; what is not ours goes on like everything else', async () => {
    await certify(60_000)
    const challenge = `/.well-known/acme-challenge/${TOKEN}`
    const proof = await edge.ask(challenge, { host: 'RED.example.:80', agent: null })
    assert.deepEqual([proof.status, proof.body.toString()], [200, 'proof'])
    assert.equal(proof.headers['content-type'], 'application/octet-stream')
    const head = await edge.ask(challenge, { method: 'HEAD' })
    assert.deepEqual([head.status, head.body.length, head.headers['content-length']], [200, 0, '5'])
    await edge.set('is_active = false')
    assert.equal((await edge.ask(challenge)).body.toString(), 'proof')
    // The origin may order certificates of its own.
    const theirs = await edge.ask(challenge, { host: 'blue.example', agent: PERSON })
    assert.match(theirs.body.toString(), /acme-challenge/)
    for (const token of ['short', `${TOKEN}/x`, `${TOKEN}?x`, '../'.repeat(10)]) {
      const { verdict } = await edge.ask(`/.well-known/acme-challenge/${token}`, { host: 'blue.example' })
      assert.match(verdict ?? '', /^(pass|rendered)/, token)
    }
  })
})
