import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PROBLEMS_LIMIT } from '@prepaint/contract/validation.ts'
import { openApi } from '../../../../test/support/api.ts'

const NAME = 'shop.example.com'

const api = await openApi()
const owner = await api.account()
const ownerCookie = await api.session(owner)
await api.domain(owner, NAME)

type Case = {
  name: string
  request: [method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown]
  error: string
  problems: { path: (string | number)[]; message: string }[]
}

const settings = (patch: unknown): Case['request'] => ['PUT', `/api/domains/${NAME}`, { settings: patch }]
const rules = (...fields: object[]) => settings({ rules: fields.map((rule) => ({ path: '/a', ...rule })) })
const pass = { action: 'pass' }

const CASES: Case[] = [
  {
    name: 'a setting',
    request: settings({ fresh_seconds: -1 }),
    error: 'settings.fresh_seconds must be at least 0',
    problems: [{ path: ['settings', 'fresh_seconds'], message: 'must be at least 0' }],
  },
  {
    name: 'a nested setting, and a second one beside it',
    request: settings({ render: { viewport: { width: 1, height: 'x' } } }),
    error: 'settings.render.viewport.width must be at least 200',
    problems: [
      { path: ['settings', 'render', 'viewport', 'width'], message: 'must be at least 200' },
      { path: ['settings', 'render', 'viewport', 'height'], message: 'must be a number' },
    ],
  },
  {
    name: 'a field of the fourth rule',
    request: rules(pass, pass, pass, { ...pass, path: 'b' }),
    error: 'settings.rules[3].path must start with /',
    problems: [{ path: ['settings', 'rules', 3, 'path'], message: 'must start with /' }],
  },
  {
    name: 'a selector of a rule',
    request: rules(pass, { change: { remove: ['a', 'a,'] } }),
    error: 'settings.rules[1].change.remove[1] is not a CSS selector: nothing after a comma',
    problems: [
      {
        path: ['settings', 'rules', 1, 'change', 'remove', 1],
        message: 'is not a CSS selector: nothing after a comma',
      },
    ],
  },
  {
    name: 'a host that a rule blocks although it is the domain itself',
    request: rules({ render: { block: ['ads', NAME] } }),
    error: 'settings.rules[0].render.block[1] must not be the domain itself',
    problems: [
      { path: ['settings', 'rules', 0, 'render', 'block', 1], message: 'must not be the domain itself' },
    ],
  },
  {
    name: 'a header whose name has dots',
    request: rules({ change: { headers: { 'a.b c': 'd' } } }),
    error: 'settings.rules[0].change.headers.a.b c is not a header name',
    problems: [
      {
        path: ['settings', 'rules', 0, 'change', 'headers', 'a.b c'],
        message: 'is not a header name',
      },
    ],
  },
  {
    name: 'a setting that needs another one',
    request: settings({ categories: { ai: 'payment' } }),
    error: 'settings.terms_url is required for "payment"',
    problems: [{ path: ['settings', 'terms_url'], message: 'is required for "payment"' }],
  },
  {
    name: 'an unknown setting',
    request: settings({ fresh: 1 }),
    error: 'settings has unknown fields: "fresh"',
    problems: [{ path: ['settings'], message: 'has unknown fields: "fresh"' }],
  },
  {
    name: 'an update of nothing',
    request: ['PUT', `/api/domains/${NAME}`, {}],
    error: 'origin_url, is_active or settings is required',
    problems: [{ path: [], message: 'must have origin_url, is_active or settings' }],
  },
  {
    name: 'an origin that is not allowed',
    request: ['PUT', `/api/domains/${NAME}`, { origin_url: 'ftp://example.com' }],
    error: 'Invalid origin URL: must use http or https',
    problems: [{ path: ['origin_url'], message: 'must use http or https' }],
  },
  {
    name: 'a new domain without its fields',
    request: ['POST', '/api/domains', { custom_domain: '' }],
    error: 'Missing required fields: custom_domain, origin_url',
    problems: [
      { path: ['custom_domain'], message: 'is required' },
      { path: ['origin_url'], message: 'is required' },
    ],
  },
  {
    name: 'a new domain with an impossible name',
    request: ['POST', '/api/domains', { custom_domain: 'localhost', origin_url: 'https://a.example' }],
    error: 'Invalid custom domain: must have at least two labels, like shop.example.com',
    problems: [{ path: ['custom_domain'], message: 'must have at least two labels, like shop.example.com' }],
  },
  {
    name: 'a body that is missing',
    request: ['POST', '/api/cache/purge'],
    error: 'domain is required',
    problems: [{ path: ['domain'], message: 'is required' }],
  },
  {
    name: 'a body of another type',
    request: ['POST', '/api/cache/purge', []],
    error: 'body must be an object',
    problems: [{ path: [], message: 'must be an object' }],
  },
  {
    name: 'a field of another type',
    request: ['POST', '/api/cache/refresh', { domain: 1, paths: 'x' }],
    error: 'domain must be a string',
    problems: [
      { path: ['domain'], message: 'must be a string' },
      { path: ['paths'], message: 'must be an array' },
    ],
  },
  {
    name: 'an entry of a list',
    request: ['POST', '/api/cache/refresh', { domain: NAME, paths: ['/a', '/b\u0000'] }],
    error: 'paths[1] is not the path of a page',
    problems: [{ path: ['paths', 1], message: 'is not the path of a page' }],
  },
  {
    name: 'the nearest of two forms of a body',
    request: ['POST', `/api/domains/${NAME}/pages/purge`, { paths: ['a'] }],
    error: 'paths[0] must start with /',
    problems: [{ path: ['paths', 0], message: 'must start with /' }],
  },
  {
    name: 'a parameter of the query',
    request: ['GET', `/api/domains/${NAME}/pages?limit=201`],
    error: 'limit must be at most 200',
    problems: [{ path: ['limit'], message: 'must be at most 200' }],
  },
  {
    name: 'a range of time',
    request: ['GET', '/api/traffic?from=yesterday'],
    error: 'from must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)',
    problems: [
      { path: ['from'], message: 'must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)' },
    ],
  },
  {
    name: 'a redirect in a list',
    request: [
      'PUT',
      `/api/domains/${NAME}/redirects`,
      { redirects: [{ from: '/a', to: '/b' }, { from: 'c' }] },
    ],
    error: 'Line 2: from must be a path that begins with one /',
    problems: [{ path: ['redirects', 1], message: 'from must be a path that begins with one /' }],
  },
  {
    name: 'a list of redirects that is missing',
    request: ['PUT', `/api/domains/${NAME}/redirects`, {}],
    error: 'redirects is required',
    problems: [{ path: ['redirects'], message: 'is required' }],
  },
]

for (const { name, request, error, problems } of CASES) {
  it(`400 names the place of ${name}`, async () => {
    const [method, path, body] = request
    const answer = await api.call(method, path, { key: owner.key, body })
    assert.deepEqual([answer.status, answer.body['error']], [400, error])
    assert.deepEqual(answer.body['problems'], problems)
  })
}

it(`400 lists at most ${PROBLEMS_LIMIT} problems`, async () => {
  const listed = async (count: number) => {
    const paths = Array<number>(count).fill(1)
    const { status, body } = await api.post('/api/cache/refresh', owner.key, { domain: NAME, paths })
    assert.equal(status, 400)
    return (body['problems'] as unknown[]).length
  }
  assert.equal(await listed(PROBLEMS_LIMIT), PROBLEMS_LIMIT)
  assert.equal(await listed(PROBLEMS_LIMIT + 1), PROBLEMS_LIMIT)
})

it('errors that are about no field have no problems', async () => {
  const unknown = await api.get('/api/domains/other.example.com', owner.key)
  assert.deepEqual([unknown.status, unknown.body], [404, { error: 'Domain not found' }])
  const webhook = await api.call('POST', '/api/webhook/refresh', { body: {} })
  assert.deepEqual(webhook.body, { error: 'Missing or invalid Authorization header' })
})

const WITH_TEXT = [
  ['/api/portfolio', 'tag'],
  ['/api/portfolio', 'search'],
  ['/api/audit', 'actor'],
  ['/api/audit', 'domain'],
  ['/api/reports/monthly', 'tag'],
  ['/api/domains/shop.example.com/renders', 'path'],
] as const

for (const [route, parameter] of WITH_TEXT) {
  it(`400: a null character in "${parameter}" of ${route} names the parameter`, async () => {
    const asked = await api.call('GET', `${route}?${parameter}=a%00b`, { cookie: ownerCookie })
    assert.deepEqual(
      [asked.status, asked.body],
      [
        400,
        {
          error: `${parameter} must not contain a null character`,
          problems: [{ path: [parameter], message: 'must not contain a null character' }],
        },
      ],
    )
  })
}
