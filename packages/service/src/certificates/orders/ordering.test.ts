import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestAcme, type TestAcme } from '../../../../../test/support/acme-server.ts'
import { type TestFleet, type TestNode, testFleet } from '../../../../../test/support/certificate-fleet.ts'
import { until as untilWithin } from '../../../../../test/support/condition.ts'
import { startPebble } from '../../../../../test/support/pebble.ts'
import { hasProgram } from '../../../../../test/support/program.ts'

/** However busy the machine is. */
const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 60_000)

/** The same, whoever the CA is. */
const AUTHORITIES = [
  { name: 'our own test server', start: startTestAcme },
  ...(hasProgram('pebble', 'pebble') ? [{ name: 'Pebble', start: startPebble }] : []),
]

for (const { name: authority, start } of AUTHORITIES) {
  describe(`certificates from ${authority}`, () => {
    let fleet: TestFleet
    let orders: TestNode
    let answers: TestNode
    let acme: TestAcme
    let root: string
    before(async () => {
      fleet = await testFleet()
      orders = await fleet.node()
      answers = await fleet.node()
      // The CA comes to another node than the one that orders.
      acme = await start(answers.ports)
      root = await acme.root()
    })
    after(async () => {
      await fleet.close()
      await acme.close()
    })

    const issued = (name: string) =>
      until(`a certificate for ${name}`, async () => {
        const { certificate, order } = await fleet.view(name)
        assert.equal(order.last_error, null)
        return certificate
      })

    // Proves decided "Certificates"
    it('http-01: one node orders, another answers the CA, all serve it without a restart', async () => {
      const ordering = orders.order(acme)
      await assert.rejects(answers.handshake('plain.example'))
      await fleet.addDomain('plain.example')
      const certificate = await issued('plain.example')
      assert.deepEqual([certificate.source, certificate.names], ['acme', ['plain.example']])
      assert.equal(certificate.key, 'EC prime256v1')
      for (const node of [orders, answers]) {
        const seen = await until('it is served', () => node.handshake('plain.example', root))
        assert.deepEqual(seen, { serial: certificate.serial, protocol: 'h2', authorized: true })
      }
      await until('the proof is withdrawn', async () => {
        const { rowCount } = await fleet.pool.query('select from acme_challenge')
        return rowCount === 0
      })
      await ordering.close()
    })

    // Proves decided "Certificates"
    it('tls-alpn-01: the proof is given within the handshake, also of a renewal, while visitors get theirs', async () => {
      const ordering = orders.order(acme, { reach: async () => ({ kind: 'tls-alpn-01' }) })
      await fleet.addDomain('shaken.example')
      const first = await issued('shaken.example')
      await fleet.pool.query(`update certificate_order set next_at = now(), renew_at = now() from domain
        where domain_id = id and custom_domain = 'shaken.example'`)
      ordering.wake()
      await until('a renewal', async () => {
        // Whenever a visitor comes, it is a certificate of the CA.
        assert.equal((await answers.handshake('shaken.example', root)).authorized, true)
        const { certificate } = await fleet.view('shaken.example')
        return certificate?.serial !== first.serial
      })
      await ordering.close()
    })

    it('no key is in the database in clear, and a deleted domain leaves nothing', async () => {
      orders.order(acme)
      const domain = await fleet.addDomain('secret.example')
      await issued('secret.example')
      const { rows } = await fleet.pool.query<{ key_sealed: Buffer }>(
        'select key_sealed from certificate union all select key_sealed from acme_account',
      )
      assert(rows.length > 1)
      for (const { key_sealed: sealed } of rows) {
        // A P-256 key in PKCS #8 is known by its algorithm.
        assert(!sealed.includes(Buffer.from('2a8648ce3d0201', 'hex')))
        assert(!sealed.includes('PRIVATE'))
      }
      await fleet.pool.query('delete from domain where id = $1', [domain.id])
      await fleet.pool.query(`select pg_notify('invalidate', '{"host": "secret.example"}')`)
      const isRefused = () => assert.rejects(answers.handshake('secret.example')).then(() => true)
      await until('it is served no more', isRefused)
      const left = await fleet.pool.query('select from certificate where domain_id = $1', [domain.id])
      assert.equal(left.rowCount, 0)
    })
  })
}
