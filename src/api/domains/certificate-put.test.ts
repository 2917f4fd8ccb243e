import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  startTestApi,
  TEST_START_MS,
  type TestAccount,
  type TestAnswer,
  type TestApi,
} from '../../../test/support/api.ts'
import { createTestCa, type TestLeaf } from '../../../test/support/certificate-authority.ts'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '../../certificates/certificate.ts'
import { createVault } from '../../certificates/vault/vault.ts'
import { createApiServer } from '../server.ts'

const NAME = 'shop.example.com'
const PATH = `/api/domains/${NAME}/certificate`
const DAY_MS = 86_400_000

let api: TestApi
let owner: TestAccount
const root = createTestCa('root', TEST_START_MS)
const middle = createTestCa('middle', TEST_START_MS, root)
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, NAME)
})
after(() => api.close())

const put = (leaf: Partial<TestLeaf>, key = owner.key): Promise<TestAnswer> =>
  api.call('PUT', PATH, { key, body: { certificate_chain: leaf.chain, private_key: leaf.key } })
const remove = () => api.call('DELETE', PATH, { key: owner.key })
const errorOf = ({ body }: TestAnswer) => String(body['error'])
const sslEnabled = async () =>
  ((await api.get(`/api/domains/${NAME}`, owner.key)).body['domain'] as Record<string, unknown>)[
    'ssl_enabled'
  ]

describe('the certificate of a domain', () => {
  // Proves decided "Own certificates"
  it('200: none at first; then what was supplied, without its key; ssl_enabled follows', async () => {
    const none = await api.get(PATH, owner.key)
    assert.equal(none.status, 200)
    assert.equal(none.body['certificate'], null)
    assert.equal(await sslEnabled(), false)

    const leaf = middle.leaf({ names: [NAME, 'www.example.com'] })
    const answer = await put(leaf)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual((await api.get(PATH, owner.key)).body, answer.body)
    const certificate = answer.body['certificate'] as Record<string, unknown>
    assert.equal(certificate['source'], 'own')
    assert.deepEqual(certificate['names'], [NAME, 'www.example.com'])
    assert.equal(certificate['issuer'], 'CN=middle')
    assert.equal(certificate['not_after'], new Date(TEST_START_MS + 90 * DAY_MS).toISOString())
    assert.doesNotMatch(answer.text, /PRIVATE/)
    assert.equal(await sslEnabled(), true)
    // Nothing is ordered before its end.
    assert.equal(
      (answer.body['order'] as Record<string, unknown>)['next_attempt_at'],
      certificate['not_after'],
    )

    api.clock.atMs += 90 * DAY_MS
    assert.equal(await sslEnabled(), false, 'it has ended')
    api.clock.atMs -= 90 * DAY_MS
  })

  // Proves decided "Own certificates"
  it('200: replaced by another, and removed; from then on another one may be ordered', async () => {
    const serialOf = ({ body }: TestAnswer) => (body['certificate'] as Record<string, unknown>)['serial']
    const first = await put(middle.leaf())
    const second = await put(root.leaf())
    assert.notEqual(serialOf(first), serialOf(second))
    const removed = await remove()
    assert.equal(removed.status, 200)
    assert.equal((removed.body['deleted'] as Record<string, unknown>)['serial'], serialOf(second))
    const left = (await api.get(PATH, owner.key)).body
    assert.equal(left['certificate'], null)
    const { next_attempt_at: next } = left['order'] as Record<string, unknown>
    assert.equal(next, new Date(TEST_START_MS).toISOString())
    assert.equal(await sslEnabled(), false)
    const again = await remove()
    assert.equal(again.status, 404)
    assert.equal(errorOf(again), 'Certificate not found')
  })

  it('the key is stored sealed, and goes with the domain', async () => {
    await api.domain(owner, 'gone.example.com')
    const path = '/api/domains/gone.example.com/certificate'
    const leaf = middle.leaf({ names: ['gone.example.com'] })
    const body = { certificate_chain: leaf.chain, private_key: leaf.key }
    assert.equal((await api.call('PUT', path, { key: owner.key, body })).status, 200)
    const dump = async () => {
      const { rows } = await api.pool.query<{ row: string }>('select t::text as row from certificate t')
      return rows.map(({ row }) => row).join('\n')
    }
    const der = Buffer.from(leaf.key.replace(/-----[^-]+-----|\s/g, ''), 'base64')
    const text = await dump()
    assert.match(text, /BEGIN CERTIFICATE/)
    assert.doesNotMatch(text, /PRIVATE KEY/)
    // The 32 secret bytes stand behind the head of a P-256 key.
    assert.doesNotMatch(text, new RegExp(der.subarray(36, 68).toString('hex')))

    assert.equal((await api.call('DELETE', '/api/domains/gone.example.com', { key: owner.key })).status, 200)
    assert.doesNotMatch(await dump(), /BEGIN CERTIFICATE/)
  })

  // Proves decided "Own certificates"
  it('400: what is wrong is named by its field', async () => {
    const leaf = middle.leaf()
    const cases: [Partial<TestLeaf>, RegExp][] = [
      [{ chain: leaf.chain }, /^private_key is required/],
      [{ key: leaf.key }, /^certificate_chain is required/],
      [{ ...leaf, chain: '' }, /^certificate_chain must not be empty/],
      [{ ...leaf, chain: 'x' }, /^certificate_chain must be one or more certificates in PEM/],
      [{ ...leaf, key: 'x' }, /^private_key must be a private key in PEM/],
      [{ ...leaf, key: middle.leaf().key }, /^private_key is not the key of the certificate/],
      [middle.leaf({ names: ['other.example.com'] }), /^certificate_chain .*for shop\.example\.com/],
      [middle.leaf({ notAfterMs: TEST_START_MS }), /^certificate_chain has ended/],
      [
        { ...leaf, chain: leaf.chain.padEnd(CHAIN_LIMIT_CHARS + 1) },
        /^certificate_chain must have at most 65536/,
      ],
      [{ ...leaf, key: leaf.key.padEnd(KEY_LIMIT_CHARS + 1) }, /^private_key must have at most 16384/],
    ]
    for (const [given, words] of cases) {
      const answer = await put(given)
      assert.equal(answer.status, 400, answer.text)
      assert.match(errorOf(answer), words)
    }
    assert.equal((await api.get(PATH, owner.key)).body['certificate'], null)
  })

  it('200: at the limit of both sizes', async () => {
    const leaf = middle.leaf()
    const answer = await put({
      chain: leaf.chain.padEnd(CHAIN_LIMIT_CHARS),
      key: leaf.key.padEnd(KEY_LIMIT_CHARS),
    })
    assert.equal(answer.status, 200, answer.text)
    await remove()
  })

  it("404: another account's domain, and nothing is stored", async () => {
    const stranger = await api.account()
    assert.equal((await put(middle.leaf(), stranger.key)).status, 404)
    assert.equal((await api.get(PATH, stranger.key)).status, 404)
    assert.equal((await api.call('DELETE', PATH, { key: stranger.key })).status, 404)
    assert.equal((await api.get(PATH, owner.key)).body['certificate'], null)
  })

  // Proves decided "Wrong master key"
  it('503: at a node whose master key is not that of the database', async () => {
    await put(middle.leaf())
    const vault = createVault({ pool: api.pool, keys: null, dataDir: '/nowhere' })
    const other = await createApiServer({
      ...api.deps,
      vault,
      version: '0.0.0-test',
      publicUrl: null,
      contact: null,
    })
    const { chain, key } = middle.leaf()
    const answer = await other.inject({
      method: 'PUT',
      url: PATH,
      headers: { 'x-api-key': owner.key },
      payload: { certificate_chain: chain, private_key: key },
    })
    assert.equal(answer.statusCode, 503)
    assert.deepEqual(answer.json(), { error: 'Certificates cannot be stored at this node' })
    await other.close()
    await remove()
  })
})
