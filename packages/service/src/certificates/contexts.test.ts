import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SecureContext } from 'node:tls'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { createTestCa } from '../../../../test/support/certificate-authority.ts'
import { ACME_TLS } from './acme/alpn-certificate.ts'
import { type CertificateSources, Contexts } from './contexts.ts'
import type { ServedCertificate } from './stored-certificate.ts'
import { parseMasterKeys } from './vault/master-key.ts'
import { certificatePurpose, seal, Vault } from './vault/vault.ts'

const START_MS = Date.UTC(2026, 10, 21)
const DAY_MS = 86_400_000
const NAME = 'shop.example.com'
/** It is on the disk only. */
const KEPT = 'kept.example.com'
const keys = parseMasterKeys(Buffer.alloc(32, 7).toString('base64'))!
const ca = createTestCa('ca', START_MS)

/** A store of one name, which counts what it is asked. */
function world() {
  const domain = 1 as DomainId
  const life = { notBeforeMs: START_MS, notAfterMs: START_MS + 90 * DAY_MS }
  const certificate = (sealedFor: number = domain) => {
    const { chain, key } = ca.leaf(life)
    const der = Buffer.from(key.replace(/-----[^-]+-----|\s/g, ''), 'base64')
    return { chain, keySealed: seal(keys, certificatePurpose(sealedFor), der), ...life }
  }
  const it_ = {
    nowMs: START_MS,
    connected: true,
    isAway: false,
    fails: false,
    reads: 0,
    held: Promise.resolve(),
    stored: { domain, certificate: certificate(), challenge: null } as ServedCertificate | null,
    certificate,
  }
  const read = async (name: string) => {
    it_.reads++
    const { stored } = it_
    await it_.held
    if (it_.fails) throw new Error('the database is away')
    return name === NAME ? stored : null
  }
  // It opens with the given keys, so that nothing asks the database.
  const vault = new Vault(new pg.Pool(), '/nowhere', keys)
  const clock = { nowMs: () => it_.nowMs }
  const sources: CertificateSources = {
    read,
    readKept: (name) => (name === KEPT ? it_.stored : null),
    get isConnected() {
      return it_.connected
    },
    get isAway() {
      return it_.isAway
    },
  }
  const contexts = new Contexts(sources, vault, clock, silentLog())
  const ask = async (name = NAME, protocol: string | null = null): Promise<SecureContext | null> =>
    contexts.contextFor(name, protocol)
  return Object.assign(it_, {
    contexts,
    ask,
    forget: (host: string) => contexts.held.invalidate({ kind: 'host', host }),
  })
}

it('a served certificate is read once for any spelling of its name, also that there is none', async () => {
  const w = world()
  const first = await w.ask()
  assert(first !== null)
  for (const name of [NAME, NAME.toUpperCase(), `${NAME}.`]) assert.equal(await w.ask(name), first)
  assert.equal(w.reads, 1)
  assert.equal(await w.ask('nobody.example.com'), null)
  assert.equal(await w.ask('nobody.example.com'), null)
  assert.equal(w.reads, 2)
})

it('a served certificate is read again after a notification about its name, and no other', async () => {
  const w = world()
  const first = await w.ask()
  w.forget('other.example.com')
  assert.equal(await w.ask(), first)
  w.stored = null
  w.forget(NAME)
  assert.equal(await w.ask(), null)
  assert.equal(w.reads, 2)
})

it('a notification wins over a read of the same moment', async () => {
  const w = world()
  const asked = w.ask()
  w.stored = null
  w.forget(NAME)
  assert(await asked)
  assert.equal(await w.ask(), null, 'what was read before is not kept')
})

it('while notifications may be missed a certificate is read each time; without the database, the known one is served', async () => {
  const w = world()
  const first = await w.ask()
  w.connected = false
  w.contexts.held.lost()
  const second = await w.ask()
  assert.notEqual(second, first)
  assert.notEqual(await w.ask(), second)
  assert.equal(w.reads, 3)
  w.fails = true
  assert(await w.ask())
  assert.equal(await w.ask('nobody.example.com'), null)
  w.connected = true
  w.fails = false
  await w.ask()
  const reads = w.reads
  await w.ask()
  assert.equal(w.reads, reads)
})

it('while the database is away what is in memory is given without a read, and what the node keeps on its disk', async () => {
  const w = world()
  const first = await w.ask()
  w.connected = false
  w.contexts.held.lost()
  w.isAway = true
  w.fails = true
  assert.equal(await w.ask(), first)
  assert.equal(w.reads, 1)
  const kept = await w.ask(KEPT)
  assert(kept !== null)
  assert.equal(await w.ask(KEPT), kept, 'it is in memory now')
  assert.equal(await w.ask('nobody.example.com'), null)
  w.nowMs = START_MS + 90 * DAY_MS
  assert.equal(await w.ask(KEPT), null, 'expired certificates are never served')
})

it('after a loss a certificate is read once and kept again; what is gone meanwhile is not served', async () => {
  const w = world()
  await w.ask()
  w.contexts.held.lost()
  const second = await w.ask()
  assert.equal(await w.ask(), second)
  assert.equal(w.reads, 2)
  w.stored = null
  w.contexts.held.lost()
  assert.equal(await w.ask(), null)
})

it('a certificate is served until its end to the millisecond, and before its beginning, as the clock of the CA may be ahead', async () => {
  const w = world()
  w.nowMs = START_MS - 60_000
  assert(await w.ask())
  w.nowMs = START_MS + 90 * DAY_MS - 1
  assert(await w.ask())
  w.nowMs++
  assert.equal(await w.ask(), null)
})

it('a certificate whose key cannot be opened is not served', async () => {
  const w = world()
  w.stored = { ...w.stored!, certificate: w.certificate(2) }
  assert.equal(await w.ask(), null)
  w.stored = { ...w.stored, certificate: { ...w.certificate(), keySealed: Buffer.alloc(100) } }
  w.forget(NAME)
  assert.equal(await w.ask(), null)
})

it('a CA gets the challenge and never the certificate; others the certificate and never the challenge', async () => {
  const w = world()
  const visitors = await w.ask()
  assert.equal(await w.ask(NAME, ACME_TLS), null, 'there is no challenge')
  w.stored = { ...w.stored!, challenge: 'token.thumbprint' }
  // No notification has come yet.
  const proof = await w.ask(NAME, ACME_TLS)
  assert(proof !== null)
  assert.notEqual(proof, visitors)
  w.forget(NAME)
  const after = await w.ask()
  assert(after !== null && after !== proof)
  assert.equal(w.contexts.alpn(NAME, ['h2', 'http/1.1']), null)
  assert.equal(w.contexts.alpn(NAME, [ACME_TLS])?.protocol, ACME_TLS)
})
