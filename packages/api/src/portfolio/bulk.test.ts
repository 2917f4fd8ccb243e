import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { BulkResult } from '@prepaint/contract/api/portfolio.ts'
import { createKey } from '@prepaint/service/accounts/keys.ts'
import {
  assertAnswer,
  openApi,
  storePages,
  type TestAccount,
  valuesOf,
} from '../../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account()
const one = await api.domain(owner, 'one.example.com')
const two = await api.domain(owner, 'two.example.com')
const stranger = await api.account()
const foreign = await api.domain(stranger, 'foreign.example.com')

const bulk = (body: unknown, account: Pick<TestAccount, 'key'> = owner) =>
  api.post('/api/bulk', account.key, body)
const results = async (body: unknown) => {
  const { status, body: answer, text } = await bulk(body)
  assert.equal(status, 200, text)
  return (answer['results'] as BulkResult[]).map(({ domain, status, error }) => [domain, status, error])
}
const domainsOf = async (query: string) =>
  (await api.get(`/api/portfolio?sort=name${query}`, owner.key)).body['domains'] as Record<string, unknown>[]
const BOTH = [one.name, two.name]

// Proves decided "Tags"
it('200: tags are added and removed whatever their case; a tag that no domain has is gone', async () => {
  const domains = [...BOTH, foreign.name, 'no name']
  assert.deepEqual(await results({ action: 'tag', domains, add: ['Müller', 'Shop'] }), [
    [one.name, 200, null],
    [two.name, 200, null],
    [foreign.name, 404, 'Domain not found'],
    ['no name', 404, 'Domain not found'],
  ])
  await results({ action: 'tag', domains: [one.name], add: ['MÜLLER'], remove: ['shop'] })
  assert.deepEqual(valuesOf(await domainsOf(''), 'tags'), [['Müller'], ['Müller', 'Shop']])
  assert.deepEqual((await api.get('/api/tags', owner.key)).body['tags'], [
    { name: 'Müller', domains: 2 },
    { name: 'Shop', domains: 1 },
  ])
  await results({ action: 'tag', domains: BOTH, remove: ['Shop'] })
  assert.deepEqual(valuesOf((await api.get('/api/tags', owner.key)).body['tags'], 'name'), ['Müller'])
  assert.deepEqual((await api.get('/api/tags', stranger.key)).body, { tags: [] })
})

it('400: bulk tags that are neither added nor removed; a domain that would have more than 20 keeps its own', async () => {
  assertAnswer(await bulk({ action: 'tag', domains: BOTH }), 400, /^add or remove is required/)
  const many = Array.from({ length: 20 }, (_, at) => `t${at}`)
  assert.deepEqual(await results({ action: 'tag', domains: [one.name], add: many }), [
    [one.name, 400, 'tags must have at most 20 entries'],
  ])
})

it('400: tags that are too long, too many, or have characters that separate them', async () => {
  const put = (tags: unknown) =>
    api.call('PUT', `/api/domains/${one.name}/tags`, { key: owner.key, body: { tags } })
  const wrong = [
    ['a,b'],
    ['a;b'],
    ['a\u0007'],
    [''],
    ['x'.repeat(41)],
    'a',
    [1],
    Array.from({ length: 21 }, (_, at) => `${at}`),
  ]
  for (const tags of wrong) assertAnswer(await put(tags), 400, /^tags\b/)
  assert.deepEqual((await put(['A', 'a', ' b '])).body, { tags: ['A', 'b'] })
})

it('200: pause and resume, each domain once', async () => {
  const active = async () => valuesOf(await domainsOf(''), 'is_active')
  await results({ action: 'pause', domains: [...BOTH, one.name] })
  assert.deepEqual(await active(), [false, false])
  await results({ action: 'resume', domains: BOTH })
  assert.deepEqual(await active(), [true, true])
})

// Proves decided "Many domains at once"
it('200: the home page is rendered again while the stored one stays, a warm starts, and paused domains are refused', async () => {
  await storePages(api, one.id, ['/', '/a'])
  await results({ action: 'pause', domains: [two.name] })
  for (const action of ['rerender', 'warm']) {
    assert.deepEqual(await results({ action, domains: BOTH }), [
      [one.name, 200, null],
      [two.name, 403, 'Domain is not active'],
    ])
  }
  const jobs = await api.database.column<string>('select path from job where domain_id = $1', one.id)
  assert.deepEqual(jobs, ['/'])
  const stored = () =>
    api.database.column<string>('select path from page where domain_id = $1 order by path', one.id)
  assert.deepEqual(await stored(), ['/', '/a'])
  await results({ action: 'purge', domains: [one.name] })
  assert.deepEqual(await stored(), [])
  await results({ action: 'resume', domains: [two.name] })
})

// Proves decided "Templates"
it('templates: made, listed, changed, previewed, applied by value, and deleted', async () => {
  const create = (name: string, settings: unknown) =>
    api.post('/api/templates', owner.key, { name, settings })
  const made = await create('Shops', { fresh_seconds: 60, markdown: 'off' })
  assert.equal(made.status, 201, made.text)
  const { id } = made.body['template'] as { id: number }
  assertAnswer(await create('SHOPS', { fresh_seconds: 1 }), 400, 'name is used by another template')
  assertAnswer(await create('x', { origin_headers: [] }), 400, /^settings /)
  assertAnswer(await create('x', { way: 'dns' }), 400, /^settings /)
  assertAnswer(await create('x', {}), 400, /^settings /)
  const preview = (domains: string[]) => api.post(`/api/templates/${id}/preview`, owner.key, { domains })
  assert.deepEqual((await preview([one.name])).body['domains'], [
    {
      domain: one.name,
      changes: [
        { setting: 'fresh_seconds', before: 86_400, after: 60 },
        { setting: 'markdown', before: 'on', after: 'off' },
      ],
    },
  ])
  assertAnswer(await preview([foreign.name]), 404, 'Domain not found')
  await results({ action: 'template', domains: BOTH, template_id: id })
  assert.deepEqual((await preview(BOTH)).body['domains'], [
    { domain: one.name, changes: [] },
    { domain: two.name, changes: [] },
  ])
  const put = (body: unknown) => api.call('PUT', `/api/templates/${id}`, { key: owner.key, body })
  assert.equal((await put({ name: 'shops', settings: { fresh_seconds: 61 } })).status, 200)
  const settings = (await api.get(`/api/domains/${one.name}`, owner.key)).body['domain'] as {
    settings: { fresh_seconds: number }
  }
  assert.equal(settings.settings.fresh_seconds, 60, 'a template is copied, never linked')
  assert.deepEqual((await api.get('/api/templates', stranger.key)).body, { templates: [] })
  assertAnswer(
    await api.call('DELETE', `/api/templates/${id}`, { key: stranger.key }),
    404,
    'Template not found',
  )
  assertAnswer(
    await bulk({ action: 'template', domains: [foreign.name], template_id: id }, stranger),
    404,
    'Template not found',
  )
  assertAnswer(await api.call('DELETE', `/api/templates/${id}`, { key: owner.key }), 200, {
    deleted: { id, name: 'shops' },
  })
})

it('403: more than 50 templates', async () => {
  await api.pool.query(
    `insert into settings_template (account_id, name, settings) select $1, 'n' || n, '{"cards":"on"}' from generate_series(1, 50) n`,
    [stranger.id],
  )
  const answer = await api.post('/api/templates', stranger.key, { name: 'more', settings: { cards: 'on' } })
  assertAnswer(answer, 403, 'Template limit reached (50 per account)')
})

it('403: a key needs for many domains what it needs for one', async () => {
  const now = { plans: api.options.plans, nowMs: api.clock.nowMs() }
  const made = async (rights: ('read' | 'refresh' | 'write')[]) =>
    createKey(api.pool, owner.id, { name: 'x', expiresAt: null, rights, domains: null }, now)
  const write = await made(['write'])
  const refresh = await made(['refresh'])
  const read = await made(['read'])
  const text = 'This API key does not allow this'
  assert.equal((await bulk({ action: 'pause', domains: BOTH }, write)).status, 200)
  assertAnswer(await bulk({ action: 'warm', domains: BOTH }, write), 403, { error: text, needs: 'refresh' })
  assertAnswer(await bulk({ action: 'resume', domains: BOTH }, refresh), 403, { error: text, needs: 'write' })
  assertAnswer(await bulk({ action: 'warm', domains: BOTH }, read), 403, { error: text, needs: 'refresh' })
})

it('400: an unknown action, no domain, or more than 1,000', async () => {
  assertAnswer(await bulk({ action: 'delete', domains: BOTH }), 400, /^action must be /)
  assertAnswer(await bulk({ action: 'warm', domains: [] }), 400, 'domains must not be empty')
  const many = Array.from({ length: 1_001 }, (_, at) => `${at}.example.com`)
  assertAnswer(await bulk({ action: 'warm', domains: many }), 400, 'domains must have at most 1000 entries')
})
