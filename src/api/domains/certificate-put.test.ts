import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertAnswer, openApi, TEST_START_MS, valuesOf } from '../../../test/support/api.ts'
import { createTestCa, type TestLeaf } from '../../../test/support/certificate-authority.ts'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '../../certificates/certificate.ts'
import { createVault } from '../../certificates/vault/vault.ts'
import { createApiServer } from '../server.ts'

const NAME = 'shop.example.com'
const PATH = `/api/domains/${NAME}/certificate`
const DAY_MS = 86_400_000

const root = createTestCa('root', TEST_START_MS)
const middle = createTestCa('middle', TEST_START_MS, root)
const api = await openApi()
const owner = await api.account()
await api.domain(owner, NAME)

const put = (leaf: Partial<TestLeaf>, path = PATH) =>
  api.call('PUT', path, { key: owner.key, body: { certificate_chain: leaf.chain, private_key: leaf.key } })
const get = () => api.get(PATH, owner.key)
const remove = () => api.call('DELETE', PATH, { key: owner.key })
const sslEnabled = async () =>
  valuesOf([(await api.get(`/api/domains/${NAME}`, owner.key)).body['domain']], 'ssl_enabled')[0]

describe('the certificate of a domain', () => {
  // Proves decided "Own certificates"
  it('200: none at first; then what was supplied, without its key; ssl_enabled follows', async () => {
    assert.deepEqual([(await get()).body['certificate'], await sslEnabled()], [null, false])
    const answer = await put(middle.leaf({ names: [NAME, 'www.example.com'] }))
    assertAnswer(await get(), 200, answer.body)
    const { source, names, issuer, not_after } = answer.body['certificate'] as Record<string, unknown>
    assert.deepEqual([source, names, issuer], ['own', [NAME, 'www.example.com'], 'CN=middle'])
    assert.equal(not_after, new Date(TEST_START_MS + 90 * DAY_MS).toISOString())
    assert.doesNotMatch(answer.text, /PRIVATE/)
    assert.equal(await sslEnabled(), true)
    // Nothing is ordered before its end.
    assert.deepEqual(valuesOf([answer.body['order']], 'next_attempt_at'), [not_after])
  })

  // Proves decided "Own certificates"
  it('200: replaced by another, and removed; from then on another one may be ordered', async () => {
    const serialOf = (certificate: unknown) => valuesOf([certificate], 'serial')[0]
    const first = await put(middle.leaf())
    const second = await put(root.leaf())
    assert.notEqual(serialOf(first.body['certificate']), serialOf(second.body['certificate']))
    const removed = await remove()
    assert.equal(serialOf(removed.body['deleted']), serialOf(second.body['certificate']))
    const left = (await get()).body
    assert.deepEqual([left['certificate'], await sslEnabled()], [null, false])
    assert.deepEqual(valuesOf([left['order']], 'next_attempt_at'), [new Date(TEST_START_MS).toISOString()])
    assertAnswer(await remove(), 404, 'Certificate not found')
  })

  it('the key is stored sealed', async () => {
    await api.domain(owner, 'gone.example.com')
    const path = '/api/domains/gone.example.com/certificate'
    const leaf = middle.leaf({ names: ['gone.example.com'] })
    assert.equal((await put(leaf, path)).status, 200)
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
      [
        { ...leaf, chain: leaf.chain.padEnd(CHAIN_LIMIT_CHARS + 1) },
        /^certificate_chain must have at most 65536/,
      ],
      [{ ...leaf, key: leaf.key.padEnd(KEY_LIMIT_CHARS + 1) }, /^private_key must have at most 16384/],
    ]
    for (const [given, words] of cases) assertAnswer(await put(given), 400, words)
    assert.equal((await get()).body['certificate'], null)
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

  // Proves decided "Wrong master key"
  it('503: at a node whose master key is not that of the database', async () => {
    await put(middle.leaf())
    const vault = createVault({ pool: api.pool, keys: null, dataDir: '/nowhere' })
    const other = await createApiServer({ ...api.deps, vault })
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
