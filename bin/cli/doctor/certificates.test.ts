import assert from 'node:assert/strict'
import net from 'node:net'
import { it } from 'node:test'
import { parseMasterKeys } from '../../../src/certificates/vault/master-key.ts'
import { startTestAcme } from '../../../test/support/acme-server.ts'
import { listening } from '../../../test/support/loopback.ts'
import { acmeDirectory, masterKey, tlsPort } from './services.ts'

it('the CA: off, there, without an address for trouble, away, or no CA at all', async () => {
  const acme = await startTestAcme({ http: 1, tls: 1 })
  const look = (directory: string | null, email: string | null = 'me@example.com') =>
    acmeDirectory({ version: '1', acme: { directory, email, selfCheck: true, ordersPerHour: 1 } }, acme.ca)
  assert.equal((await look(null)).state, 'ok')
  assert.equal((await look(acme.directoryUrl)).state, 'ok')
  assert.equal((await look(acme.directoryUrl, null)).state, 'warning')
  const nonce = await look(acme.directoryUrl.replace('/dir', '/nonce'))
  assert.match(nonce.found, /is not the directory of a CA/)
  acme.fault = 'away'
  assert.match((await look(acme.directoryUrl)).found, /status 503/)
  await acme.close()
  const away = await look(acme.directoryUrl)
  assert.equal(away.state, 'problem')
  assert.match(away.advice ?? '', /PREPAINT_ACME_DIRECTORY/)
})

it('the port for TLS: a problem when it was asked for and is taken, else a warning', async () => {
  const other = net.createServer((socket) => socket.destroy())
  const port = await listening(other)
  const edge = { host: '127.0.0.1', port: 1, sharePort: false, memoryBytes: 0, liveWaitMs: 0 }
  const look = (at: number, tlsPortGiven: boolean) =>
    tlsPort({ edge: { ...edge, tlsPort: at, tlsPortGiven } })
  assert.equal((await look(0, true)).state, 'ok')
  assert.equal((await look(port, false)).state, 'warning')
  const taken = await look(port, true)
  assert.equal(taken.state, 'problem')
  assert.match(taken.advice ?? '', /PREPAINT_EDGE_TLS_PORT/)
  other.close()
})

it('the master key: its own file is enough for one node alone', () => {
  const secretKeys = parseMasterKeys(Buffer.alloc(32).toString('base64'))
  assert.equal(masterKey({ secretKeys: null, databaseUrl: null }).state, 'ok')
  assert.equal(masterKey({ secretKeys: null, databaseUrl: 'postgres://x' }).state, 'warning')
  assert.equal(masterKey({ secretKeys, databaseUrl: 'postgres://x' }).state, 'ok')
})
