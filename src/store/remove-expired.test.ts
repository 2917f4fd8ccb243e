import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import type { DomainId } from '../ids.ts'
import { removeExpired } from './remove-expired.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
})
after(() => database.close())
beforeEach(() => database.pool.query('delete from domain'))

async function domain(name: string, settings: object = {}): Promise<DomainId> {
  const { rows } = await database.pool.query<{ id: DomainId }>(
    `insert into domain (account_id, custom_domain, origin_url, settings)
     select id, $1, 'http://origin.example', $2 from account returning id`,
    [name, JSON.stringify(settings)],
  )
  return rows[0]!.id
}

async function page(of: DomainId, path: string, age: string): Promise<void> {
  await database.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, $2, 200, '[]', '\\x00', 1, '"e"', now() - $3::interval)`,
    [of, path, age],
  )
}

async function known(of: DomainId, path: string, source: string, age: string): Promise<void> {
  await database.pool.query(`insert into known_path values ($1, $2, $3, now() - $4::interval)`, [
    of,
    path,
    source,
    age,
  ])
}

async function sitemap(of: DomainId, path: string, age: string): Promise<void> {
  await database.pool.query(`insert into sitemap values ($1, $2, '{}', '\\x00', now() - $3::interval)`, [
    of,
    path,
    age,
  ])
}

async function left(table: 'page' | 'redirect' | 'known_path' | 'sitemap'): Promise<string[]> {
  const { rows } = await database.pool.query<{ path: string }>(`select path from ${table} order by path`)
  return rows.map(({ path }) => path)
}

describe('pages and redirects', () => {
  // Proves decided "Retention"
  it('go at the age to which their domain keeps them, not before', async () => {
    const usual = await domain('usual.example')
    const brief = await domain('brief.example', { keep_seconds: 60 })
    await page(usual, '/in-time', '29 days 23:59')
    await page(usual, '/past', '30 days 00:01')
    await page(brief, '/brief-in-time', '50 seconds')
    await page(brief, '/brief-past', '61 seconds')
    const redirect = `insert into redirect values ($1, $2, 301, '/', now() - $3::interval)`
    await database.pool.query(redirect, [brief, '/moved-in-time', '50 seconds'])
    await database.pool.query(redirect, [brief, '/moved-past', '61 seconds'])

    assert.equal(await removeExpired(database.pool), 3)
    assert.deepEqual(await left('page'), ['/brief-in-time', '/in-time'])
    assert.deepEqual(await left('redirect'), ['/moved-in-time'])
  })

  it('a setting that cannot be read counts as absent', async () => {
    const odd = await domain('odd.example', { keep_seconds: 'a week' })
    await page(odd, '/in-time', '29 days')
    await page(odd, '/past', '31 days')
    assert.equal(await removeExpired(database.pool), 1)
    assert.deepEqual(await left('page'), ['/in-time'])
  })

  it('go in steps, over as many domains as there are', async () => {
    for (const name of ['one.example', 'two.example', 'three.example']) {
      const id = await domain(name)
      for (const path of ['/a', '/b', '/c']) await page(id, path, '31 days')
    }
    assert.equal(await removeExpired(database.pool, { step: 2 }), 9)
    assert.deepEqual(await left('page'), [])
  })

  it('one that is being rendered at this moment stays', async () => {
    const id = await domain('busy.example')
    await page(id, '/again', '31 days')
    await page(id, '/past', '31 days')
    const client = await database.pool.connect()
    try {
      await client.query('begin')
      await client.query(`update page set rendered_at = now() where path = '/again'`)
      assert.equal(await removeExpired(database.pool), 1)
      await client.query('commit')
    } finally {
      client.release()
    }
    assert.equal(await removeExpired(database.pool), 0)
    assert.deepEqual(await left('page'), ['/again'])
  })

  it('nothing more goes once the node ends', async () => {
    const id = await domain('ending.example')
    await page(id, '/past', '31 days')
    assert.equal(await removeExpired(database.pool, { signal: AbortSignal.abort() }), 0)
    assert.deepEqual(await left('page'), ['/past'])
  })
})

describe('known paths', () => {
  // Proves decided "Retention"
  it('go when no crawler asked for them in 30 days', async () => {
    const id = await domain('asked.example')
    await known(id, '/in-time', 'crawler', '29 days 23:59')
    await known(id, '/past', 'crawler', '30 days 00:01')
    await removeExpired(database.pool)
    assert.deepEqual(await left('known_path'), ['/in-time'])
  })

  // Proves decided "Retention"
  it('of a sitemap go when every sitemap was read two days later and did not name them', async () => {
    const id = await domain('map.example')
    await sitemap(id, '/sitemap.xml', '1 day')
    await sitemap(id, '/sitemap-2.xml', '4 days')
    await known(id, '/named-by-the-older', 'sitemap', '5 days 23:59')
    await known(id, '/named-by-none', 'sitemap', '6 days 00:01')
    await known(id, '/asked', 'crawler', '10 days')
    await known(await domain('unread.example'), '/never-read-again', 'sitemap', '80 days')
    assert.equal(await removeExpired(database.pool), 1)
    assert.deepEqual(await left('known_path'), ['/asked', '/named-by-the-older', '/never-read-again'])
  })
})

it('sitemaps that nobody asked for in 90 days go', async () => {
  const id = await domain('forgotten.example')
  await sitemap(id, '/in-time.xml', '89 days 23:59')
  await sitemap(id, '/past.xml', '90 days 00:01')
  await removeExpired(database.pool)
  assert.deepEqual(await left('sitemap'), ['/in-time.xml'])
})
