import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { RedirectUses } from '@prepaint/pages/site-files/stored-redirects.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { assertAnswer, openApi, storePages, valuesOf } from '../../../../test/support/api.ts'

const at = '/api/domains/red.example.com'
const api = await openApi()
const owner = await api.account()
const { id } = await api.domain(owner, 'red.example.com')

const put = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call('PUT', at + path, { key: owner.key, body, headers })
const set = (settings: object) => put('', { settings })
const get = (path: string) => api.get(at + path, owner.key)
type Listed = { from: string; hits: number; last_used_at: string | null }
const listed = async () => (await get('/redirects')).body['redirects'] as Listed[]

it('the list of redirects: gives the list as it was put, with uses, other hosts and hidden pages', async () => {
  assert.deepEqual((await get('/redirects')).body, { domain: 'red.example.com', redirects: [] })
  await storePages(api, id, ['/old?x=1', '/shop/a'])
  await api.pool.query(`insert into last_visit values ($1, '/shop/a', 'a', 'search', now())`, [id])
  const redirects = [
    { from: '/z', to: 'https://else.example/', hits: 7, external: false },
    { from: '/old', to: '/new', status: 302 },
    { from: '/shop/*', to: 'https://red.example.com/*' },
    { from: '/gone', to: null, status: 410 },
  ]
  const answer = await put('/redirects', { redirects })
  assert.equal(answer.status, 200)
  const plain = { status: 301, hits: 0, last_used_at: null, external: false, shadows_page: false }
  assert.deepEqual(answer.body['redirects'], [
    { ...plain, from: '/z', to: 'https://else.example/', external: true },
    { ...plain, from: '/old', to: '/new', status: 302, shadows_page: true },
    { ...plain, from: '/shop/*', to: 'https://red.example.com/*', shadows_page: true },
    { ...plain, from: '/gone', to: null, status: 410 },
  ])
  assert.deepEqual((await get('/redirects')).body, answer.body)
  assert.equal((await api.pool.query('select from last_visit')).rowCount, 0, 'it is not refreshed ahead')
})

it('the list of redirects: adds up uses, also beside a domain that is gone, and keeps those of what stays', async () => {
  const redirects = ['/old', '/shop/*'].map((from) => ({ from, to: '/other' }))
  await put('/redirects', { redirects })
  const uses = new RedirectUses(api.pool, silentLog())
  const nowMs = Date.parse('2026-01-02T03:04:05Z')
  uses.note(id, '/old', nowMs - 1_000)
  uses.note(id, '/old', nowMs)
  uses.note(id, '/shop/*', nowMs)
  uses.note(0 as DomainId, '/old', nowMs)
  await uses.flush()
  uses.note(id, '/old', nowMs - 5_000)
  await uses.flush()
  const used = async () =>
    (await listed()).map(({ from, hits, last_used_at: last }) => `${from} ${hits} ${last}`)
  assert.deepEqual(await used(), ['/old 3 2026-01-02T03:04:05.000Z', '/shop/* 1 2026-01-02T03:04:05.000Z'])
  await put('/redirects', { redirects: [{ from: '/old', to: '/else' }] })
  await put('/redirects', { redirects })
  assert.deepEqual(await used(), ['/old 3 2026-01-02T03:04:05.000Z', '/shop/* 0 null'])
})

it('the list of redirects: refuses bad entries with their lines, and saves nothing', async () => {
  const answer = await put('/redirects', {
    redirects: [{ from: '/fine', to: '/x' }, { from: 'a', to: '/x' }, {}],
  })
  assertAnswer(answer, 400, /^Line 2: from must be a path/)
  assert.deepEqual(valuesOf(answer.body['lines'], 'line'), [2, 3])
  assert.equal((await listed())[0]?.from, '/old')
  assertAnswer(await put('/redirects', { redirects: 'x' }), 400, 'redirects must be an array')
})

it('the list of redirects: takes 8 MiB and no more', async () => {
  const size = 8 * 1_048_576
  const fits = '{"redirects":[]}'.padEnd(size)
  assert.equal((await put('/redirects', fits)).status, 200)
  assertAnswer(await put('/redirects', `${fits} `), 413, 'Request body too large (maximum 8 MiB)')
})

it('the list of redirects: comes and goes as CSV', async () => {
  const csv = { 'content-type': 'text/csv' }
  const text = 'from,to,status\r\n/a,/b,301\r\n'
  assert.equal((await put('/redirects', 'to,from\n/b,/a\n', { ...csv, accept: 'text/csv' })).text, text)
  assert.equal((await get('/redirects?format=csv')).text, text)
  assert.equal((await put('/redirects?format=xml', { redirects: [] })).status, 400)
  const bad = await put('/redirects', 'from,to\n/a,/b\n\n/c,//d', csv)
  assertAnswer(bad, 400, /^Line 4: to must be a path/)
  assert.equal((await put('', 'x', csv)).status, 415)
})

it('the list of redirects: changes a list only if it is the one that was read', async () => {
  const tag = (await get('/redirects')).headers.get('etag')!
  const change = (from: string, ifMatch: string) =>
    put('/redirects', { redirects: [{ from, to: '/b' }] }, { 'if-match': ifMatch })
  assert.equal((await change('/1', tag)).status, 200)
  assertAnswer(await change('/2', tag), 412, 'It was changed since it was read')
  assert.equal((await change('/3', '*')).status, 200)
})

describe('settings of site files', () => {
  const robots = (mode: string, text?: string) => ({ robots: { mode, text } })
  const TEXT = 'robots.text'
  const NO_URL = 'terms_url must be an http or https URL'
  const cases: [name: string, settings: object, error: string][] = [
    ['text in a group', robots('append', 'Allow: /'), `${TEXT} must begin with a User-agent or Sitemap line`],
    ['too long a text', robots('replace', 'x'.repeat(512_001)), `${TEXT} must have at most 512000 bytes`],
    ['NUL', robots('replace', 'a\0'), `${TEXT} must not contain NUL or broken characters`],
    ['an unknown field', { preferences: { train: 'deny' } }, 'preferences has unknown fields: "train"'],
    ['payment without terms', { categories: { ai: 'payment' } }, 'terms_url is required for "payment"'],
    ['terms with a user', { terms_url: 'https://u@x.example/' }, NO_URL],
    ['terms that end the header', { terms_url: 'https://x.example/>;' }, NO_URL],
  ]
  for (const [name, settings, error] of cases) {
    it(`refuses ${name}`, async () => assertAnswer(await set(settings), 400, `settings.${error}`))
  }

  it('shows the text of robots.txt only where one domain is read', async () => {
    const text = 'x'.repeat(512_000)
    assert.equal((await set({ robots: { mode: 'replace', text } })).status, 200)
    const one = (await get('')).body['domain'] as { settings: { robots: object }; indexnow_key: null }
    assert.deepEqual(one.settings.robots, { mode: 'replace', text })
    assert.equal(one.indexnow_key, null)
    const changed = (await set({ fresh_seconds: 60 })).body['domain'] as typeof one
    assert.deepEqual(changed.settings.robots, { mode: 'replace' })
  })

  it('terms cannot go while payment needs them; the key of IndexNow is made once', async () => {
    const terms_url = 'https://red.example.com/terms'
    assert.equal((await set({ categories: { ai: 'payment' }, terms_url })).status, 200)
    assert.equal((await set({ terms_url: null })).status, 400)
    assert.equal((await set({ categories: { 'ai-user': 'block' }, terms_url: null })).status, 200)
    const keys = []
    for (const indexnow of [true, false, true]) {
      keys.push(((await set({ indexnow })).body['domain'] as { indexnow_key: string }).indexnow_key)
    }
    assert.match(keys[0]!, /^[0-9a-f]{32}$/)
    assert.equal(new Set(keys).size, 1)
    const file = await put('/redirects', { redirects: [{ from: `/${keys[0]}.txt`, to: '/x' }] })
    assert.match(file.body['error'] as string, /is never redirected/)
  })
})

it('POST /api/domains/:domain/robots/test judges a text, what is served, and says when there is nothing to judge by', async () => {
  const judge = (body: object) => api.post(`${at}/robots/test`, owner.key, body)
  const text = 'User-agent: *\nDisallow: /private # mine'
  const verdict = await judge({ path: '/private/x', crawler: 'Googlebot', text })
  assert.deepEqual(verdict.body, { allowed: false, line: 2, rule: 'Disallow: /private # mine' })
  const own = 'User-agent: GPTBot\nDisallow: /'
  await set({ robots: { mode: 'replace', text: own } })
  assert.equal((await judge({ path: '/', crawler: 'GPTBot/1.2' })).body['allowed'], false)
  const shown = { domain: 'red.example.com', mode: 'replace', text: own, origin: null, served: own }
  assert.deepEqual((await get('/robots')).body, shown)
  await set({ robots: { mode: 'origin' } })
  assertAnswer(await judge({ path: '/', crawler: 'x' }), 502, 'Origin cannot be reached')
  assertAnswer(await judge({ path: 'x', crawler: 'x' }), 400, 'path must start with /')
})

type Version = { id: number; kind: string; author: string; content?: unknown }
const versions = async (kind: string) => (await get(`/versions?kind=${kind}`)).body['versions'] as Version[]
const restore = (id: number) => api.post(`${at}/versions/${id}/restore`, owner.key)

it('versions: keeps the last 20 of each kind with their authors; no change, no version', async () => {
  for (let n = 0; n < 21; n++) await put('/redirects', { redirects: [{ from: `/v${n}`, to: '/x' }] })
  await put('/redirects', { redirects: [{ from: '/v20', to: '/x' }] })
  const kept = await versions('redirects')
  assert.equal(kept.length, 20)
  assert.equal(kept[0]!.author, 'key test')
  const cookie = await api.session(owner)
  await api.call('PUT', `${at}/redirects`, { cookie, body: { redirects: [] } })
  assert.equal((await versions('redirects'))[0]!.author, owner.email)
  const before = (await versions('policy')).length
  await set({ fresh_seconds: 61 })
  assert.equal((await versions('policy')).length, before)
  assert.equal((await get('/versions?kind=other')).status, 400)
})

it('versions: puts any of them back into force', async () => {
  const [, before] = await versions('redirects')
  const made = await restore(before!.id)
  assert.equal(made.status, 200)
  assert.deepEqual(made.body['content'], [{ from: '/v20', to: '/x', status: 301 }])
  assert.notEqual(made.body['id'], before!.id)
  assert.equal((await listed())[0]?.from, '/v20')
  const again = await restore(made.body['id'] as number)
  assert.equal(again.body['id'], made.body['id'], 'the current one makes none')

  await set({ preferences: { search: 'deny' }, rules: [{ path: '/a', action: 'pass' }] })
  await set({ preferences: {}, rules: [] })
  await set({ robots: { mode: 'replace', text: 'one' } })
  await set({ robots: { mode: 'replace', text: 'two' } })
  for (const kind of ['policy', 'rules', 'robots']) await restore((await versions(kind))[1]!.id)
  const { settings } = (await get('')).body['domain'] as { settings: Record<string, unknown> }
  assert.deepEqual(settings['preferences'], { search: 'deny' })
  assert.deepEqual(settings['rules'], [{ path: '/a', action: 'pass' }])
  assert.deepEqual(settings['robots'], { mode: 'replace', text: 'one' })
})

it('versions: are not told to others, and unknown ones are not found', async () => {
  const [first] = await versions('robots')
  const found = await get(`/versions/${first!.id}`)
  assert.deepEqual(found.body['content'], { mode: 'replace', text: 'one' })
  await api.domain(owner, 'blue.example.com')
  const asked = await api.get(`/api/domains/blue.example.com/versions/${first!.id}`, owner.key)
  assertAnswer(asked, 404, 'Version not found')
  assert.equal((await restore(2_147_483_648)).status, 404)
})
