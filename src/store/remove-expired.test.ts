import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { openQueue } from '../../test/support/queue.ts'
import { transaction } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import { removeExpired } from './remove-expired.ts'

const queue = await openQueue()
const { pool } = queue
beforeEach(() => pool.query('delete from domain'))

async function domain(settings: object = {}): Promise<DomainId> {
  const id = await queue.domain()
  await queue.set(id, settings)
  return id
}
const page = (of: DomainId, path: string, age: string) =>
  pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, $2, 200, '[]', '', 1, 'e', now() - $3::interval)`,
    [of, path, age],
  )
const known = (of: DomainId, path: string, source: string, age: string) =>
  pool.query('insert into known_path values ($1, $2, $3, now() - $4::interval)', [of, path, source, age])
const sitemap = (of: DomainId, path: string, age: string) =>
  pool.query(`insert into sitemap values ($1, $2, '{}', '', now() - $3::interval)`, [of, path, age])

async function left(table: 'page' | 'redirect' | 'known_path' | 'sitemap'): Promise<string[]> {
  const { rows } = await pool.query<{ path: string }>(`select path from ${table} order by path`)
  return rows.map(({ path }) => path)
}

describe('pages and redirects', () => {
  // Proves decided "Retention"
  it('go at the age to which their domain keeps them, not before', async () => {
    const usual = await domain()
    const brief = await domain({ keep_seconds: 60 })
    await page(usual, '/in-time', '29 days 23:59')
    await page(usual, '/past', '30 days 00:01')
    await page(brief, '/brief-in-time', '50 seconds')
    await page(brief, '/brief-past', '61 seconds')
    const redirect = `insert into redirect values ($1, $2, 301, '/', now() - $3::interval)`
    await pool.query(redirect, [brief, '/moved-in-time', '50 seconds'])
    await pool.query(redirect, [brief, '/moved-past', '61 seconds'])

    assert.equal(await removeExpired(pool), 3)
    assert.deepEqual(await left('page'), ['/brief-in-time', '/in-time'])
    assert.deepEqual(await left('redirect'), ['/moved-in-time'])
  })

  it('a setting that cannot be read counts as absent', async () => {
    const odd = await domain({ keep_seconds: 'a week' })
    await page(odd, '/in-time', '29 days')
    await page(odd, '/past', '31 days')
    assert.equal(await removeExpired(pool), 1)
    assert.deepEqual(await left('page'), ['/in-time'])
  })

  it('go in steps, over as many domains as there are', async () => {
    for (const id of [await domain(), await domain(), await domain()])
      for (const path of ['/a', '/b', '/c']) await page(id, path, '31 days')
    assert.equal(await removeExpired(pool, { step: 2 }), 9)
    assert.deepEqual(await left('page'), [])
  })

  it('one that is being rendered at this moment stays', async () => {
    const id = await domain()
    await page(id, '/again', '31 days')
    await page(id, '/past', '31 days')
    await transaction(pool, async (client) => {
      await client.query(`update page set rendered_at = now() where path = '/again'`)
      assert.equal(await removeExpired(pool), 1)
    })
    assert.equal(await removeExpired(pool), 0)
    assert.deepEqual(await left('page'), ['/again'])
  })

  it('nothing more goes once the node ends', async () => {
    const id = await domain()
    await page(id, '/past', '31 days')
    assert.equal(await removeExpired(pool, { signal: AbortSignal.abort() }), 0)
    assert.deepEqual(await left('page'), ['/past'])
  })
})

describe('known paths', () => {
  // Proves decided "Retention"
  it('go when no crawler asked for them in 30 days', async () => {
    const id = await domain()
    await known(id, '/in-time', 'crawler', '29 days 23:59')
    await known(id, '/past', 'crawler', '30 days 00:01')
    await removeExpired(pool)
    assert.deepEqual(await left('known_path'), ['/in-time'])
  })

  // Proves decided "Retention"
  it('of a sitemap go when every sitemap was read two days later and did not name them', async () => {
    const id = await domain()
    await sitemap(id, '/sitemap.xml', '1 day')
    await sitemap(id, '/sitemap-2.xml', '4 days')
    await known(id, '/named-by-the-older', 'sitemap', '5 days 23:59')
    await known(id, '/named-by-none', 'sitemap', '6 days 00:01')
    await known(id, '/asked', 'crawler', '10 days')
    await known(await domain(), '/never-read-again', 'sitemap', '80 days')
    assert.equal(await removeExpired(pool), 1)
    assert.deepEqual(await left('known_path'), ['/asked', '/named-by-the-older', '/never-read-again'])
  })
})

it('sitemaps that nobody asked for in 90 days go', async () => {
  const id = await domain()
  await sitemap(id, '/in-time.xml', '89 days 23:59')
  await sitemap(id, '/past.xml', '90 days 00:01')
  await removeExpired(pool)
  assert.deepEqual(await left('sitemap'), ['/in-time.xml'])
})
