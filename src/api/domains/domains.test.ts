import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { setPlan } from '../../accounts/accounts.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
})
after(() => api.close())

const create = (body?: unknown, key = owner.key) => api.post('/api/domains', key, body)
const ORIGIN = 'https://origin.example.com'
const SITE_LIMIT = 'Site limit reached for your subscription plan'

describe('POST /api/domains', () => {
  // Proves interface 1/4, interface 2/1, interface 2/2, interface 2/3, interface 2/4, interface 2/5
  // Proves interface 2/6, interface 2/7, interface 2/8, interface 2/9, interface 3/4, interface 4.1/2
  it('201: the new domain with the fields and the defaults of the contract', async () => {
    const { status, body } = await create({ custom_domain: 'Shop.Example.com', origin_url: ORIGIN })
    assert.equal(status, 201)
    const { id, created_at, updated_at, ...rest } = body['domain'] as Record<string, unknown>
    assert(Number.isInteger(id))
    assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(updated_at, created_at)
    assert.deepEqual(rest, {
      custom_domain: 'shop.example.com',
      origin_url: ORIGIN,
      ssl_enabled: false,
      renders_used: 0,
      monthly_render_limit: 200_000,
      is_active: true,
    })
  })

  // Proves decided "`origin_url` in answers"
  it('201: an IDN is registered in punycode', async () => {
    const { body } = await create({
      custom_domain: 'bücher.example',
      origin_url: 'HTTP://Origin.Example.com:8080/',
    })
    const domain = body['domain'] as Record<string, unknown>
    assert.equal(domain['custom_domain'], 'xn--bcher-kva.example')
    assert.equal(domain['origin_url'], 'http://origin.example.com:8080')
  })

  // Proves interface 4.1/2, interface 7/3, decided "Null or empty required fields"
  describe('400: required fields are missing', () => {
    const bodies = [
      undefined,
      {},
      [],
      null,
      'null',
      '"text"',
      { custom_domain: 'a.example.com' },
      { origin_url: ORIGIN },
      { custom_domain: '', origin_url: ORIGIN },
      { custom_domain: null, origin_url: ORIGIN },
    ]
    for (const body of bodies) {
      it(JSON.stringify(body) ?? 'no body', async () => {
        const { status, body: answer } = await create(body)
        assert.equal(status, 400)
        assert.deepEqual(answer, { error: 'Missing required fields: custom_domain, origin_url' })
      })
    }
  })

  it('400: a field of the wrong type is named', async () => {
    const { status, body } = await create({ custom_domain: 'a.example.com', origin_url: 5 })
    assert.deepEqual([status, body['error']], [400, 'origin_url must be a string'])
  })

  // Proves decided "Domain names"
  it('400: what is no domain name, with the reason, before the origin is looked at', async () => {
    const { status, body } = await create({ custom_domain: '127.0.0.1', origin_url: 'ftp://x' })
    assert.deepEqual(
      [status, body['error']],
      [400, 'Invalid custom domain: must be a name, not an IP address'],
    )
  })

  // Proves interface 2/3, interface 4.1/6, interface 4.1/7, interface 7/4
  describe('400: an origin that could forge requests', () => {
    const origins = [
      'http://localhost',
      'http://127.0.0.1',
      'http://10.1.2.3',
      'http://169.254.169.254',
      'http://[::1]',
      'http://[::ffff:10.0.0.1]',
      'http://2130706433',
      'https://internal.attacker.com',
      'https://mixed.attacker.com',
      'ftp://origin.example.com',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'origin.example.com',
      'https://user:secret@origin.example.com',
    ]
    for (const origin_url of origins) {
      it(origin_url, async () => {
        const { status, body } = await create({ custom_domain: 'new.example.com', origin_url })
        assert.equal(status, 400)
        assert.match(String(body['error']), /^Invalid origin URL: \S/)
        assert.doesNotMatch(String(body['error']), /secret/)
      })
    }
  })

  // Proves interface 4.1/8, interface 4.1/11, interface 7/6
  it('409: already registered, by oneself or by another account', async () => {
    const other = await api.account()
    const body = { custom_domain: 'taken.example.com', origin_url: ORIGIN }
    assert.equal((await create(body)).status, 201)
    for (const key of [owner.key, other.key]) {
      const answer = await create({ ...body, custom_domain: 'TAKEN.example.com.' }, key)
      assert.equal(answer.status, 409)
      assert.equal(answer.body['error'], 'Domain already exists. Use PUT to update a domain you own.')
    }
  })

  // Proves interface 4.1/4, interface 4.1/5, interface 5/13, interface 7/2, interface 7/5, interface 8/9
  it('403: at the site limit, with what is and what may be, before anything of the body is read', async () => {
    const account = await api.account('agency')
    for (let n = 0; n < 25; n++) {
      const body = { custom_domain: `n${n}.limit.example.com`, origin_url: ORIGIN }
      assert.equal((await create(body, account.key)).status, 201)
    }
    for (const body of [
      { custom_domain: 'n25.limit.example.com', origin_url: ORIGIN },
      {},
      '{broken',
      undefined,
    ]) {
      const answer = await create(body, account.key)
      assert.deepEqual([answer.status, answer.body], [403, { error: SITE_LIMIT, current: 25, allowed: 25 }])
    }

    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'agency_plus')
    const more = { custom_domain: 'n25.limit.example.com', origin_url: ORIGIN }
    assert.equal((await create(more, account.key)).status, 201)
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'agency')
    const { body } = await create(more, account.key)
    assert.deepEqual(body, { error: SITE_LIMIT, current: 26, allowed: 25 })
  })

  // Proves decided "Order of checks, `POST /api/domains`"
  it('the order of checks: each is told before all that come after it', async () => {
    const account = await api.account('agency')
    const told = async (body: unknown, key = account.key) => (await create(body, key)).body['error']
    await api.domain(owner, 'order.example.com')
    await setPlan(api.pool, { ...DEFAULT_PLANS, none: DEFAULT_PLANS['pro']! }, account.id, 'none')
    assert.equal(await told('{', 'pp_live_wrong'), 'Invalid API key')
    assert.equal(await told('{'), 'API access requires Agency plan or above')
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'agency')
    await api.pool.query(
      `insert into domain (account_id, custom_domain, origin_url)
       select $1, 'order-' || n || '.example.com', 'https://origin.example.com' from generate_series(1, 25) n`,
      [account.id],
    )
    assert.equal(await told('{'), SITE_LIMIT)
    await api.pool.query('delete from domain where account_id = $1', [account.id])
    assert.equal(await told('{'), 'Invalid JSON body')
    const wrong = { custom_domain: 'localhost', origin_url: '' }
    assert.equal(await told(wrong), 'Missing required fields: custom_domain, origin_url')
    assert.match(String(await told({ ...wrong, origin_url: 'http://10.0.0.1' })), /^Invalid custom domain: /)
    const taken = { custom_domain: 'order.example.com', origin_url: 'http://10.0.0.1' }
    assert.match(String(await told(taken)), /^Invalid origin URL: /)
    assert.match(String(await told({ ...taken, origin_url: ORIGIN })), /^Domain already exists/)
    assert.equal(
      (await create({ custom_domain: 'order2.example.com', origin_url: ORIGIN }, account.key)).status,
      201,
    )
  })

  // Proves interface 4.1/5, interface 8/9
  it('403: of 50 that come at once, as many get in as the plan allows', async () => {
    const account = await api.account('agency')
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const body = { custom_domain: `p${n}.burst.example.com`, origin_url: ORIGIN }
        return (await create(body, account.key)).status
      }),
    )
    assert.equal(statuses.filter((status) => status === 201).length, 25)
    assert.equal(statuses.filter((status) => status === 403).length, 25)
  })

  // Proves interface 4.1/8
  it('409: of 50 accounts that want one name at once, one gets it', async () => {
    const accounts = await Promise.all(Array.from({ length: 50 }, () => api.account()))
    const body = { custom_domain: 'wanted.example.com', origin_url: ORIGIN }
    const statuses = await Promise.all(accounts.map(async ({ key }) => (await create(body, key)).status))
    assert.deepEqual(
      [201, 409].map((wanted) => statuses.filter((status) => status === wanted).length),
      [1, 49],
    )
  })
})
