import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { deleteDomain } from '@prepaint/service/sites/domain-changes.ts'
import { type LookForProof, PROOF_CHECKS_AN_HOUR } from '@prepaint/service/sites/proof/domain-proofs.ts'
import { assertAnswer, openApi } from '../../../../test/support/api.ts'
import { rawRequest } from '../../../../test/support/raw-request.ts'

type Look = Awaited<ReturnType<LookForProof>>
const HERE: Look = { kind: 'missing', error: 'It leads here.', isRecordAbsent: true, site: 'here' }
const FOUND: Look = { kind: 'found', method: 'dns' }
let look: Look = HERE

const api = await openApi({ lookForProof: async () => look })
const one = await api.account('enterprise')
const two = await api.account('enterprise')

beforeEach(() => {
  look = HERE
})

const proofOf = (name: string, key = two.key) => api.get(`/api/domains/${name}/proof`, key)
const check = (name: string, key = two.key) => api.post(`/api/domains/${name}/proof/check`, key)

/** The domain of the second account, which the first had before. */
async function takenOver(name: string) {
  await api.domain(one, name)
  await deleteDomain(api.pool, one.id, name as never)
  const body = { custom_domain: name, origin_url: 'https://origin.example.com' }
  const added = await api.post('/api/domains', two.key, body)
  assert.equal(added.status, 201, added.text)
  return added
}

describe('GET /api/domains/:domain/proof', () => {
  it('shows a domain that nobody asked about, and what would prove it', async () => {
    await api.domain(two, 'plain.example.com')
    const { status, body } = await proofOf('plain.example.com')
    const { records, ...proof } = body['proof'] as { records: Record<string, Record<string, string>> }
    const nothing = { method: null, checked_at: null, deadline: null, error: null }
    assert.deepEqual([status, proof], [200, { state: 'not-asked', served: true, ...nothing }])
    const token = /^prepaint-proof=([0-9a-f]{40})$/.exec(records['dns']!['value']!)![1]!
    assert.deepEqual(records, {
      dns: { name: '_prepaint.plain.example.com', type: 'TXT', value: `prepaint-proof=${token}` },
      file: {
        url: 'https://plain.example.com/.well-known/prepaint-proof.txt',
        content: `prepaint-proof=${token}`,
      },
      meta: { tag: `<meta name="prepaint-proof" content="${token}">` },
    })
  })

  it('shows tokens that differ by account and by name, and stay', async () => {
    const tokenOf = async (name: string, key: string) =>
      JSON.stringify(((await proofOf(name, key)).body['proof'] as { records: object }).records).match(
        /[0-9a-f]{40}/,
      )![0]
    const domain = await api.domain(one, 'mine.example.com')
    await api.domain(one, 'also.example.com')
    const first = await tokenOf('mine.example.com', one.key)
    assert.notEqual(await tokenOf('also.example.com', one.key), first)
    assert.equal(await tokenOf('mine.example.com', one.key), first)
    await deleteDomain(api.pool, one.id, domain.name)
    await api.domain(two, 'mine.example.com')
    assert.notEqual(await tokenOf('mine.example.com', two.key), first)
  })

  it('and its check answer 404 for a domain of another account, as for one that never was', async () => {
    await api.domain(one, 'foreign.example.com')
    for (const name of ['foreign.example.com', 'never.example.com']) {
      assertAnswer(await proofOf(name), 404, 'Domain not found')
      assertAnswer(await check(name), 404, 'Domain not found')
    }
  })
})

describe('a name that another account had', () => {
  it('is answered as any new domain, and is not served until it is proven', async () => {
    const added = await takenOver('taken.example.com')
    assert.deepEqual(Object.keys(added.body['domain'] as object).toSorted(), [
      ...['created_at', 'custom_domain', 'id', 'is_active', 'monthly_render_limit', 'origin_url'],
      ...['renders_used', 'ssl_enabled', 'updated_at'],
    ])
    const asked = (await proofOf('taken.example.com')).body['proof'] as Record<string, unknown>
    assert.deepEqual([asked['state'], asked['served'], asked['error']], ['asked', false, 'It leads here.'])
    look = FOUND
    const { status, body } = await check('taken.example.com')
    const proven = body['proof'] as Record<string, unknown>
    assert.deepEqual(
      [status, proven['state'], proven['served'], proven['method']],
      [200, 'proven', true, 'dns'],
    )
  })

  // Proves decided "Middleware integration, refusals"
  it('is refused to fronts with 503 and domain-not-proven until it is proven, by keys and site tokens', async () => {
    await takenOver('fronted.example.com')
    const nowMs = api.clock.nowMs()
    const { token } = await createSiteToken(api.pool, two.id, 'fronted.example.com' as never, {
      author: 'a',
      nowMs,
    })
    const ask = (key: string) =>
      rawRequest(api.url, {
        method: 'GET',
        path: '/https://fronted.example.com/',
        headers: { 'x-prerender-token': key },
      })
    for (const key of [token, two.key]) {
      const { status, headers, text } = await ask(key)
      assert.deepEqual(
        [status, headers['x-prerender-reject-reason'], headers['retry-after'], text],
        [503, 'domain-not-proven', '3600', ''],
      )
      assert.equal(headers['x-prepaint'], undefined)
    }
    const offer = () =>
      api.call('POST', '/api/render', { token, body: { url: 'https://fronted.example.com/' } })
    const refused = await offer()
    assertAnswer(refused, 503, 'Domain is not proven yet')
    assert.equal(refused.headers.get('retry-after'), '3600')
    look = FOUND
    await check('fronted.example.com')
    assert.deepEqual([(await ask(token)).status, (await offer()).status], [200, 200])
  })

  it('is listed as to be set up, and says why', async () => {
    await takenOver('listed.example.com')
    const stateOf = async () => {
      const { body } = await api.get('/api/portfolio?search=listed', two.key)
      const [{ state, reasons }] = body['domains'] as [
        { state: string; reasons: { kind: string; text: string }[] },
      ]
      return [state, ...reasons.map(({ kind, text }) => `${kind}: ${text}`)]
    }
    assert.deepEqual(await stateOf(), [
      'setup',
      'not_set_up: Not served until you have proven that the name is yours.',
    ])
    await api.pool.query(
      `update domain_proof set state = 'lost', served = true, method = 'dns', missed_at = now()`,
    )
    const [state, first] = await stateOf()
    assert.deepEqual([state, first], ['warning', 'proof_lost: The proof that the name is yours is gone.'])
  })
})

it('checks are 30 an hour for each account, and the 31st is told to wait', async () => {
  const account = await api.account('enterprise')
  await api.domain(account, 'often.example.com')
  for (let n = 0; n < PROOF_CHECKS_AN_HOUR; n++) {
    assert.equal((await check('often.example.com', account.key)).status, 200)
  }
  const refused = await check('often.example.com', account.key)
  assertAnswer(refused, 429, 'Too many checks, try again in a minute')
  assert(Number(refused.headers.get('retry-after')) > 0)
})
