import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ImportLine } from '@prepaint/contract/api/portfolio.ts'
import { assertAnswer, openApi, type TestAccount, valuesOf } from '../../../../test/support/api.ts'

const api = await openApi()
const send = ({ key }: TestAccount, csv: string, query = '') =>
  api.call('POST', `/api/domains/import${query}`, { key, body: csv, headers: { 'content-type': 'text/csv' } })
const lines = async (account: TestAccount, csv: string, query = '') => {
  const { status, body, text } = await send(account, csv, query)
  assert.equal(status, 200, text)
  return (body['lines'] as ImportLine[]).map((line) => [
    line.line,
    line.custom_domain,
    line.state,
    line.error,
  ])
}
const listed = async ({ key }: TestAccount) =>
  (await api.get('/api/portfolio?sort=name', key)).body['domains'] as Record<string, unknown>[]

it('200: domains with tags, way and template are added; a dry run adds none', async () => {
  const owner = await api.account()
  await api.post('/api/templates', owner.key, { name: 'Shops', settings: { fresh_seconds: 60 } })
  const csv =
    '\ufeffcustom_domain,origin_url,tags,way,template\r\nA.import.example.com,https://o.example.net,Müller;x,,SHOPS\r\nb.import.example.com,https://o.example.net,,middleware,\r\n'
  const found = (state: string) => [
    [2, 'a.import.example.com', state, null],
    [3, 'b.import.example.com', state, null],
  ]
  assert.deepEqual(await lines(owner, csv, '?dry_run=true'), found('would-add'))
  assert.deepEqual(await listed(owner), [])
  assert.deepEqual(await lines(owner, csv), found('added'))
  assert.deepEqual(valuesOf(await listed(owner), 'tags'), [['Müller', 'x'], []])
  assert.deepEqual(valuesOf(await listed(owner), 'way'), ['dns', 'middleware'])
  const { domain } = (await api.get('/api/domains/a.import.example.com', owner.key)).body as {
    domain: { settings: { fresh_seconds: number } }
  }
  assert.equal(domain.settings.fresh_seconds, 60)
  const followed = await api.database.column<number>(
    `select count(*)::int from health h join certificate_order o using (domain_id) join domain d on d.id = domain_id where d.account_id = $1`,
    owner.id,
  )
  assert.deepEqual(followed, [2])
})

// Proves decided "Import of domains"
it('200: each line has its error, and nothing is added; with partial=true the others are', async () => {
  const owner = await api.account()
  await api.domain(owner, 'taken.import.example.com')
  const csv = [
    'custom_domain,origin_url,tags,way,template',
    'good.import.example.com,https://o.example.net,,,',
    'localhost,https://o.example.net,,,',
    'x.import.example.com,ftp://o.example.net,,,',
    'taken.import.example.com,https://o.example.net,,,',
    'good.import.example.com,https://o.example.net,,,',
    ',https://o.example.net,,,',
    `t.import.example.com,https://o.example.net,${'x'.repeat(41)},,`,
    'w.import.example.com,https://o.example.net,,cname,',
    'y.import.example.com,https://o.example.net,,,None',
  ].join('\n')
  const found = await lines(owner, csv)
  assert.deepEqual(
    found.map(([line, , state]) => [line, state]),
    [[2, 'would-add'], ...[3, 4, 5, 6, 7, 8, 9, 10].map((line) => [line, 'error'])],
  )
  const errors = found.slice(1).map(([, , , error]) => String(error))
  for (const [at, pattern] of [
    /^Invalid custom domain: /,
    /^Invalid origin URL: /,
    /^Domain already exists/,
    /^custom_domain is on line 2 already$/,
    /^Missing required fields/,
    /^tags /,
    /^way /,
    /^template /,
  ].entries()) {
    assert.match(errors[at]!, pattern)
  }
  assert.equal((await listed(owner)).length, 1)
  const partly = await lines(owner, csv, '?partial=true')
  assert.deepEqual(partly[0], [2, 'good.import.example.com', 'added', null])
  assert.equal((await listed(owner)).length, 2)
})

it('403: more lines than the plan has room for, also in a dry run and with partial', async () => {
  const owner = await api.account('agency')
  const csv = `custom_domain,origin_url\none.full.example.com,https://o.example.net\n${'x,y\n'.repeat(25)}`
  for (const query of ['', '?dry_run=true', '?partial=true']) {
    const error = 'Site limit reached for your subscription plan'
    assertAnswer(await send(owner, csv, query), 403, { error, current: 0, allowed: 25 })
  }
})

it('200: an export of prerender.io is recognised', async () => {
  const owner = await api.account()
  const csv = 'domain,url\np.import.example.com,https://origin.example.net/\n'
  assert.deepEqual(await lines(owner, csv), [[2, 'p.import.example.com', 'added', null]])
})

it('400: a file that cannot be read as a whole', async () => {
  const owner = await api.account()
  assertAnswer(await api.post('/api/domains/import', owner.key, {}), 400, /must be CSV/)
  for (const [csv, error] of [
    ['name,origin\nx,y', 'Line 1: the header must name custom_domain and origin_url'],
    ['custom_domain,origin_url\n"x,y', 'Line 2: a quote is not closed'],
    ['custom_domain,origin_url\n', 'Line 1: no domain follows'],
    [`custom_domain,origin_url\n${'x,y\n'.repeat(1_001)}`, 'body has more than 1000 lines'],
  ] as const) {
    assertAnswer(await send(owner, csv), 400, new RegExp(error))
  }
  const csv = `custom_domain,origin_url\n${'x'.repeat(1_048_576)},y`
  assertAnswer(await send(owner, csv), 413, /too large/)
})
