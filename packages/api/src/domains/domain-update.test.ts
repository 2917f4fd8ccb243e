import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '@prepaint/contract/api/certificate.ts'
import { DEFAULT_DOMAIN_SETTINGS } from '@prepaint/contract/settings/domain-settings.ts'
import { readBackup } from '@prepaint/postgres/backup/backup.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { domainByHost } from '@prepaint/service/sites/domains.ts'
import { createOpenOriginHeaders } from '@prepaint/service/sites/origin-headers.ts'
import { assertAnswer, openApi, TEST_START_MS, valuesOf } from '../../../../test/support/api.ts'
import { createTestCa, type TestLeaf } from '../../../../test/support/certificate-authority.ts'
import { invalidatedBy } from '../../../../test/support/database.ts'
import { createApiServer } from '../server.ts'

const NAME = 'shop.example.com'
const PATH = `/api/domains/${NAME}`

const api = await openApi()
const owner = await api.account()
const { key } = owner
await api.domain(owner, NAME)

const put = (body?: unknown, path = PATH) => api.call('PUT', path, { key, body })
const current = async () => (await api.get(PATH, key)).body['domain'] as Record<string, unknown>

// Proves interface 2/9, interface 3/7, interface 4.1/12, decided "Update", decided "Unknown fields"
it('200: changes what is given and leaves the rest; fields that cannot be changed are not looked at', async () => {
  const before = await current()
  const others = { ...before, renders_used: 99, custom_domain: 'other.example.com', id: 0 }
  const { status, body } = await put({ ...others, origin_url: 'http://new.example.com:8080' })
  assert.equal(status, 200)
  const { updated_at, ...changed } = body['domain'] as Record<string, unknown>
  const { updated_at: earlier, ...rest } = before
  assert.deepEqual(changed, { ...rest, origin_url: 'http://new.example.com:8080' })
  assert(String(updated_at) >= String(earlier))
  assert.deepEqual(await current(), body['domain'])
})

// Proves decided "Deactivation"
it('200: deactivation cancels what waits, and every node is told', async () => {
  await api.post('/api/cache/refresh', key, { domain: NAME, paths: ['/a'] })
  const told = await invalidatedBy(api.database, () => put({ is_active: false }))
  assert.deepEqual(told, [{ host: NAME }])
  assert.deepEqual(await api.database.column('select state from every_job'), ['cancelled'])
  const { is_active, origin_url } = await current()
  assert.deepEqual([is_active, origin_url], [false, 'http://new.example.com:8080'])
  await put({ is_active: true })
})

// Proves decided "Settings in an update"
it('200: settings field by field', async () => {
  await put({ settings: { fresh_seconds: 60, query: ['page'] } })
  const more = { stale_seconds: 0, rules: [{ path: '/cart*', action: 'pass' }] }
  await put({ settings: more })
  const settings = { ...DEFAULT_DOMAIN_SETTINGS, fresh_seconds: 60, query: ['page'], ...more }
  assert.deepEqual((await current())['settings'], settings)
})

// Proves decided "Headers for the origin"
it('200: headers for the origin are sealed, shown without values, and kept where the value is null', async () => {
  const header = (name: string, audience = 'renders', value: string | null = `canary of ${name}`) => ({
    ...{ name, value, for: audience },
  })
  const putHeaders = (...origin_headers: object[]) => put({ settings: { origin_headers } })
  const shown = async () => ((await current())['settings'] as Record<string, unknown>)['origin_headers']
  const { status, body, text } = await putHeaders(header('Authorization'), header('X-Edge', 'all'))
  assert.equal(status, 200)
  assert.doesNotMatch(text, /canary/)
  const message = 'everybody who asks the edge gets the origin with this header'
  assert.deepEqual(body['warnings'], [{ origin_header: 'X-Edge', message }])
  assert.deepEqual(await shown(), [
    { name: 'Authorization', value: null, set: true, for: 'renders' },
    { name: 'X-Edge', value: null, set: true, for: 'all' },
  ])
  const open = createOpenOriginHeaders(api.parts.vault, silentLog())
  const opened = async (of: 'renders' | 'all') => {
    const found = await domainByHost(api.pool, NAME, (id, sealed) => open(id, sealed, of))
    return found!.originHeaders
  }
  assert.deepEqual(await opened('all'), ['X-Edge', 'canary of X-Edge'])
  assert.equal((await opened('renders')).length, 4)

  await put({ settings: (await current())['settings'] })
  await putHeaders(header('authorization', 'all', null), header('X-New'))
  assert.deepEqual(await opened('all'), ['authorization', 'canary of Authorization'])
  const unknown = await putHeaders(header('X-Edge', 'all', null))
  assertAnswer(unknown, 400, 'settings.origin_headers[0].value is required')

  const pieces = readBackup(api.database.connection, { version: '0.0.0', masterKey: null, pages: true })
  let backup = ''
  for await (const piece of pieces) backup += piece
  assert.match(backup, /"table":"origin_header"/)
  assert.doesNotMatch(backup, /canary of/)
  const longest = (n: number) => header(`X-${n}`.padEnd(100, 'x'), 'all', 'x'.repeat(4_000))
  assert.equal((await putHeaders(...Array.from({ length: 10 }, (_, n) => longest(n)))).status, 200)
  assert.equal((await putHeaders()).status, 200)
  assert.deepEqual([await shown(), await opened('renders')], [[], []])
})

// Proves decided "Update", decided "Unknown fields"
it('400: what is wrong is named, and nothing is changed', async () => {
  const header = { name: 'A', value: 'a', for: 'all' }
  const headers = (...list: object[]) => ({ settings: { origin_headers: list } })
  const named = (name: string) => headers({ ...header, name })
  const valued = (value: string) => headers({ ...header, value })
  const rule = (render: object) => ({
    settings: {
      rules: [
        { path: '/', action: 'pass' },
        { path: '/a', render },
      ],
    },
  })
  const taken = 'Host cookie Content-Type Connection TE X-Forwarded-For X-Prepaint via range'.split(' ')
  const cases: [unknown, string | RegExp][] = [
    [{ custom_domain: 'x.example.com' }, 'origin_url, is_active or settings is required'],
    [[], 'body must be an object'],
    [{ origin_url: 'http://10.0.0.1' }, /^Invalid origin URL: /],
    [{ is_active: 'yes' }, 'is_active must be a boolean'],
    [{ settings: { speed: 5 } }, 'settings has unknown fields: "speed"'],
    [{ settings: { fresh_seconds: 316_224_001 } }, 'settings.fresh_seconds must be at most 316224000'],
    ...taken.map((name): [unknown, RegExp] => [named(name), /\[0\]\.name must not be set by an owner$/]),
    [named('a b'), /\[0\]\.name is not a header name$/],
    [named('x'.repeat(101)), /\[0\]\.name is not a header name$/],
    [valued('a\r\nb: c'), /\[0\]\.value must be printable ASCII without line breaks$/],
    [valued('x'.repeat(4_001)), /\[0\]\.value must have at most 4000 characters$/],
    [headers({ name: 'a', value: 'a' }), /\[0\]\.for /],
    [headers(header, { ...header, name: 'a' }), /\[1\]\.name is there twice$/],
    [headers(...Array(11).fill(header)), 'settings.origin_headers must have at most 10 entries'],
    [rule({ block: ['ads', NAME] }), 'settings.rules[1].render.block[1] must not be the domain itself'],
    [rule({ wait_for: '..a' }), /^settings\.rules\[1\]\.render\.wait_for is not a CSS selector/],
  ]
  const before = await current()
  for (const [body, error] of cases) assertAnswer(await put(body), 400, error)
  assert.deepEqual(await current(), before)
})

it('a firewall is told the user agent, and the addresses that the operator named', async () => {
  const { status, body } = await api.get('/api/egress', key)
  assert.deepEqual([status, body['addresses']], [200, ['203.0.113.5', '2001:db8::/48']])
  assert.match(String(body['user_agent']), /^Prepaint\/\d/)
})

const rules = (...list: object[]) => ({ settings: { rules: list } })

it('rules in an update are answered with those that never match; other updates are not', async () => {
  const { body } = await put(rules({ path: '/*', action: 'render' }, { path: '/a', action: 'pass' }))
  assert.deepEqual([body['warnings'], body['outdated_pages']], [[{ rule: 1, covered_by: 0 }], 0])
  assert.deepEqual(Object.keys((await put({ is_active: true })).body), ['domain'])
})

it('rules in an update are answered with the number of pages of other rules, which ?refresh=true makes stale', async () => {
  await put(rules())
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, rule_effect)
       select id, path, 200, '[]', '', 0, 'a', now(), effect
         from domain, (values ('/x/1', ''), ('/x/2', 'of an earlier rule'), ('/y', '')) stored (path, effect)`,
  )
  const changing = rules({ path: '/x/*', change: { consent: true } })
  assert.equal((await put(changing)).body['outdated_pages'], 2)
  const stale = () => api.database.column('select path from page where stale_since is not null order by path')
  assert.deepEqual(await stale(), [])
  assert.equal((await put(changing, `${PATH}?refresh=true`)).body['outdated_pages'], 2)
  assert.deepEqual(await stale(), ['/x/1', '/x/2'])
  // Nothing is rendered for these.
  assert.equal((await put(rules({ path: '/*', action: 'gone' }))).body['outdated_pages'], 0)
})

describe('the certificate of a domain', () => {
  const DAY_MS = 86_400_000
  const root = createTestCa('root', TEST_START_MS)
  const middle = createTestCa('middle', TEST_START_MS, root)
  const AT = `${PATH}/certificate`

  const bodyOf = (leaf: Partial<TestLeaf>) => ({ certificate_chain: leaf.chain, private_key: leaf.key })
  const supply = (leaf: Partial<TestLeaf>) => put(bodyOf(leaf), AT)
  const get = () => api.get(AT, key)
  const remove = () => api.call('DELETE', AT, { key })
  const sslEnabled = async () => (await current())['ssl_enabled']

  // Proves decided "Own certificates", interface 3/7, decided "`ssl_enabled`"
  it('200: none at first; then what was supplied, without its key; ssl_enabled follows', async () => {
    assert.deepEqual([(await get()).body['certificate'], await sslEnabled()], [null, false])
    const leaf = middle.leaf({ names: [NAME, 'www.example.com'] })
    const answer = await supply(leaf)
    assertAnswer(await get(), 200, answer.body)
    const { source, names, issuer, not_after } = answer.body['certificate'] as Record<string, unknown>
    assert.deepEqual([source, names, issuer], ['own', [NAME, 'www.example.com'], 'CN=middle'])
    assert.equal(not_after, new Date(TEST_START_MS + 90 * DAY_MS).toISOString())
    assert.equal(await sslEnabled(), true)
    // Nothing is ordered before its end.
    assert.deepEqual(valuesOf([answer.body['order']], 'next_attempt_at'), [not_after])
    const stored = await api.database.column<string>('select t::text from certificate t')
    // The 32 secret bytes stand behind the head of a P-256 key.
    const secret = Buffer.from(leaf.key.replace(/-----[^-]+-----|\s/g, ''), 'base64').subarray(36, 68)
    for (const text of [answer.text, ...stored]) {
      assert.match(text, /BEGIN CERTIFICATE|"source"/)
      assert.doesNotMatch(text, new RegExp(`PRIVATE|${secret.toString('hex')}`))
    }
    api.clock.atMs += 90 * DAY_MS
    assert.equal(await sslEnabled(), false, 'it has ended')
    api.clock.atMs -= 90 * DAY_MS
  })

  // Proves decided "Own certificates"
  it('200: replaced by another, and removed; from then on another one may be ordered', async () => {
    const serialOf = (certificate: unknown) => valuesOf([certificate], 'serial')[0]
    const first = await supply(middle.leaf())
    const second = await supply(root.leaf())
    assert.notEqual(serialOf(first.body['certificate']), serialOf(second.body['certificate']))
    const removed = await remove()
    assert.equal(serialOf(removed.body['deleted']), serialOf(second.body['certificate']))
    const left = (await get()).body
    assert.deepEqual([left['certificate'], await sslEnabled()], [null, false])
    assert.deepEqual(valuesOf([left['order']], 'next_attempt_at'), [new Date(TEST_START_MS).toISOString()])
    assertAnswer(await remove(), 404, 'Certificate not found')
  })

  // Proves decided "Own certificates"
  it('400: what is wrong is named by its field', async () => {
    const leaf = middle.leaf()
    const [chain, own] = [leaf.chain.padEnd(CHAIN_LIMIT_CHARS), leaf.key.padEnd(KEY_LIMIT_CHARS)]
    const cases: [Partial<TestLeaf>, RegExp][] = [
      [{ chain }, /^private_key is required/],
      [{ ...leaf, chain: '' }, /^certificate_chain must not be empty/],
      [{ ...leaf, key: 'x' }, /^private_key must be a private key in PEM/],
      [{ ...leaf, chain: `${chain} ` }, /^certificate_chain must have at most 65536/],
      [{ ...leaf, key: `${own} ` }, /^private_key must have at most 16384/],
    ]
    for (const [given, words] of cases) assertAnswer(await supply(given), 400, words)
    assert.equal((await get()).body['certificate'], null)
    assert.equal((await supply({ chain, key: own })).status, 200)
  })

  // Proves decided "Wrong master key"
  it('503: at a node whose master key is not that of the database', async () => {
    const vault = new Vault(api.pool, '/nowhere', null)
    const other = await createApiServer({ ...api.parts, vault }, api.options)
    const headers = { 'x-api-key': key }
    const answer = await other.inject({ method: 'PUT', url: AT, headers, payload: bodyOf(middle.leaf()) })
    assert.equal(answer.statusCode, 503)
    assert.deepEqual(answer.json(), { error: 'Certificates cannot be stored at this node' })
    await other.close()
  })
})
