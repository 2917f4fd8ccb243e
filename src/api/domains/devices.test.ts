import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { assertAnswer, openApi } from '../../../test/support/api.ts'
import type { PagePath } from '../../ids.ts'
import { recordComparison } from '../../sites/devices.ts'

const api = await openApi()
const owner = await api.account()
const domain = await api.domain(owner, 'shop.example.com')

const URL_OF = '/api/domains/shop.example.com'

describe('the finding of a domain', () => {
  it('200: nothing was compared; 202: pages are; 200: what came of it', async () => {
    const nothing = { domain: 'shop.example.com', devices: 'one', finding: null, checked_at: null, pages: [] }
    assert.deepEqual((await api.get(`${URL_OF}/devices`, owner.key)).body, nothing)
    const { status, body } = await api.post(`${URL_OF}/devices/check`, owner.key, {
      paths: ['/b', '/a', '/a'],
    })
    assert.equal(status, 202)
    const jobs = body['jobs'] as { path: string; jobId: string }[]
    assert.deepEqual([body['domain'], jobs.map(({ path }) => path)], ['shop.example.com', ['/b', '/a']])
    const job = await api.get(`/api/jobs/${jobs[0]!.jobId}`, owner.key)
    assert.deepEqual([job.status, job.body['state'], 'variant' in job.body], [200, 'queued', false])

    const under = (path: string) => ({ domain: domain.id, name: domain.name, path: path as PagePath })
    await recordComparison(api.pool, under('/a'), [])
    const alike = (await api.get(`${URL_OF}/devices`, owner.key)).body
    const pages = alike['pages'] as Record<string, unknown>[]
    assert.deepEqual([alike['finding'], pages.map(({ alike }) => alike)], ['alike', [true, null]])
    await recordComparison(api.pool, under('/b'), ['text', 'status'])
    const found = (await api.get(`${URL_OF}/devices`, owner.key)).body
    assert.equal(found['finding'], 'different')
    assert.deepEqual((found['pages'] as Record<string, unknown>[])[1]!['differences'], ['text', 'status'])
  })

  it('202 without a body: `/`; 400: too many paths, and what is none; 403: inactive', async () => {
    const check = (body?: object) => api.post(`${URL_OF}/devices/check`, owner.key, body)
    const { body } = await check()
    assert.deepEqual(
      (body['jobs'] as { path: string }[]).map(({ path }) => path),
      ['/'],
    )
    const paths = (count: number) => Array.from({ length: count }, (_, at) => `/p${at}`)
    assert.equal((await check({ paths: paths(10) })).status, 202)
    assert.equal((await check({ paths: paths(11) })).status, 400)
    assert.equal((await check({ paths: [] })).status, 400)
    assert.match(String((await check({ paths: ['a'] })).body['error']), /^paths\[0\]/)
    await api.pool.query('update domain set is_active = false where id = $1', [domain.id])
    assert.deepEqual([(await check()).status, (await check()).body['error']], [403, 'Domain is not active'])
    await api.pool.query('update domain set is_active = true where id = $1', [domain.id])
  })
})

it('`?variant=` chooses what is stored for phones; 404: not stored; 400: no variant', async () => {
  const store = (variant: string) =>
    api.pool.query(
      `insert into page (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, '/v', $2, 200, '[]', $3, $4, $2, now())`,
      [domain.id, variant, brotliCompressSync(`<title>${variant}</title>`), variant.length],
    )
  await store('desktop')
  const source = (query: string) => api.get(`${URL_OF}/pages/source?path=/v${query}`, owner.key)
  const details = (query: string) => api.get(`${URL_OF}/pages/details?path=/v${query}`, owner.key)
  assert.deepEqual(
    [(await source('&variant=mobile')).status, (await details('&variant=mobile')).status],
    [404, 404],
  )
  assert.deepEqual((await source('&variant=mobile')).body, { error: 'Page not found' })
  await store('mobile')
  for (const [query, variant] of [
    ['', 'desktop'],
    ['&variant=desktop', 'desktop'],
    ['&variant=mobile', 'mobile'],
  ]) {
    assert.equal((await source(query!)).text, `<title>${variant}</title>`)
    const { body } = await details(query!)
    const stored = body['stored'] as Record<string, unknown>
    assert.deepEqual(
      [body['variant'], stored['etag'], stored['html_bytes']],
      [variant, variant, variant!.length],
    )
    assert.deepEqual(stored['variants'], ['desktop', 'mobile'])
  }
  for (const answer of [await source('&variant=tablet'), await details('&variant=tablet')]) {
    assertAnswer(answer, 400, /^variant /)
  }
  const list = await api.get(`/api/cache/list/shop.example.com`, owner.key)
  assert.equal(list.body['cachedPages'], 1)
})
