import assert from 'node:assert/strict'
import { it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { recordComparison } from '@prepaint/pages/store/device-pages.ts'
import { assertAnswer, openApi, valuesOf } from '../../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account()
const domain = await api.domain(owner, 'shop.example.com')

const URL_OF = '/api/domains/shop.example.com'
const get = (path: string) => api.get(URL_OF + path, owner.key)
const check = (body?: object) => api.post(`${URL_OF}/devices/check`, owner.key, body)

it('the finding of a domain: 200: nothing was compared; 202: pages are; 200: what came of it', async () => {
  const nothing = { domain: 'shop.example.com', devices: 'one', finding: null, checked_at: null, pages: [] }
  assertAnswer(await get('/devices'), 200, nothing)
  const { status, body } = await check({ paths: ['/b', '/a', '/a'] })
  assert.deepEqual([status, body['domain']], [202, 'shop.example.com'])
  assert.deepEqual(valuesOf(body['jobs'], 'path'), ['/b', '/a'])
  const job = await api.get(`/api/jobs/${valuesOf(body['jobs'], 'jobId')[0]}`, owner.key)
  assert.deepEqual([job.status, job.body['state'], 'variant' in job.body], [200, 'queued', false])

  const under = (path: string) => ({ domain: domain.id, name: domain.name, path: path as PagePath })
  await recordComparison(api.pool, under('/a'), [])
  const alike = (await get('/devices')).body
  assert.deepEqual([alike['finding'], valuesOf(alike['pages'], 'alike')], ['alike', [true, null]])
  await recordComparison(api.pool, under('/b'), ['text', 'status'])
  const found = (await get('/devices')).body
  assert.equal(found['finding'], 'different')
  assert.deepEqual(valuesOf(found['pages'], 'differences')[1], ['text', 'status'])
})

it('comparing: 202 without a body: `/`; 400: too many paths, and what is none; 403: inactive', async () => {
  assert.deepEqual(valuesOf((await check()).body['jobs'], 'path'), ['/'])
  const paths = Array.from({ length: 11 }, (_, at) => `/p${at}`)
  assert.equal((await check({ paths: paths.slice(1) })).status, 202)
  assert.equal((await check({ paths })).status, 400)
  assert.equal((await check({ paths: [] })).status, 400)
  assertAnswer(await check({ paths: ['a'] }), 400, /^paths\[0\]/)
  await api.pool.query('update domain set is_active = false')
  assertAnswer(await check(), 403, 'Domain is not active')
})

it('`?variant=` chooses what is stored for phones; 404: not stored; 400: no variant', async () => {
  const store = (variant: string) =>
    api.pool.query(
      `insert into page (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, '/v', $2, 200, '[]', $3, $4, $2, now())`,
      [domain.id, variant, brotliCompressSync(`<title>${variant}</title>`), variant.length],
    )
  const source = (query: string) => get(`/pages/source?path=/v${query}`)
  const details = (query: string) => get(`/pages/details?path=/v${query}`)
  await store('desktop')
  assertAnswer(await source('&variant=mobile'), 404, 'Page not found')
  assert.equal((await details('&variant=mobile')).status, 404)
  await store('mobile')
  for (const [query, variant] of [
    ['', 'desktop'],
    ['&variant=desktop', 'desktop'],
    ['&variant=mobile', 'mobile'],
  ] as const) {
    assert.equal((await source(query)).text, `<title>${variant}</title>`)
    const { body } = await details(query)
    assert.equal(body['variant'], variant)
    const stored = { etag: variant, html_bytes: variant.length, variants: ['desktop', 'mobile'] }
    assert.partialDeepStrictEqual(body['stored'], stored)
  }
  for (const answer of [await source('&variant=tablet'), await details('&variant=tablet')]) {
    assertAnswer(answer, 400, /^variant /)
  }
  assert.equal((await api.get('/api/cache/list/shop.example.com', owner.key)).body['cachedPages'], 1)
})
