import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { createListener } from '../db/listener.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import { type TestQueue, testQueue } from './test-queue.ts'
import { nextKnownPaths, requestWarmRun, WARM_RUN_CHANNEL } from './warm-run.ts'

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

const store = (domain: DomainId, paths: readonly string[]) =>
  queue.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select $1, path, 200, '{}', '\\x00', 1, 'e', now() from unnest($2::text[]) as path`,
    [domain, paths],
  )
const know = (domain: DomainId, source: 'asked' | 'sitemap', paths: readonly string[], age = '1 day') =>
  queue.pool.query(
    `insert into known_path (domain_id, path, source, seen_at)
     select $1, path, $2, now() - $4::interval from unnest($3::text[]) as path`,
    [domain, source, paths, age],
  )

/** All known paths, as a run walks through them. */
async function walk(domain: DomainId, limit: number): Promise<PagePath[]> {
  const found: PagePath[] = []
  for (;;) {
    const batch = await nextKnownPaths(queue.pool, domain, found.at(-1) ?? '', limit)
    assert(batch.length <= limit)
    found.push(...batch)
    if (batch.length < limit) return found
  }
}

describe('known paths', () => {
  it('are those that are stored, in sitemaps, or were asked for in the last 30 days; each once, in order', async () => {
    const [domain, other] = [await queue.domain(), await queue.domain()]
    await store(domain, ['/stored', '/both'])
    await know(domain, 'asked', ['/asked', '/both', '/B'])
    await know(domain, 'asked', ['/just'], '29 days 23 hours')
    await know(domain, 'asked', ['/forgotten'], '30 days 1 hour')
    await know(domain, 'sitemap', ['/mapped', '/both', '/asked'], '100 days')
    await store(other, ['/other'])
    for (const limit of [1, 2, 3, 100]) {
      assert.deepEqual(await walk(domain, limit), ['/B', '/asked', '/both', '/just', '/mapped', '/stored'])
    }
    assert.deepEqual(await walk(await queue.domain(), 5), [])
  })

  it('none is left out where many stand in two places', async () => {
    const domain = await queue.domain()
    const paths = Array.from({ length: 500 }, (_, n) => `/p${String(n).padStart(4, '0')}`)
    await store(
      domain,
      paths.filter((_, n) => n % 3 === 0),
    )
    await know(
      domain,
      'asked',
      paths.filter((_, n) => n % 2 === 0),
    )
    await know(
      domain,
      'sitemap',
      paths.filter((_, n) => n % 2 === 0 || n % 5 === 0 || n % 7 === 1),
    )
    const known = paths.filter((_, n) => n % 3 === 0 || n % 2 === 0 || n % 5 === 0 || n % 7 === 1)
    assert.deepEqual(await walk(domain, 7), known)
  })
})

describe('requestWarmRun', () => {
  it('is a row from the moment it returns, and tells the nodes', async () => {
    const domain = await queue.domain()
    const listener = await createListener(queue.connection, silentLog())
    try {
      const { promise, resolve } = Promise.withResolvers<string>()
      listener.on(WARM_RUN_CHANNEL, resolve)
      await listener.settled()
      await requestWarmRun(queue.pool, domain)
      assert.equal(await promise, String(domain))
    } finally {
      await listener.close()
    }
    const { rows } = await queue.pool.query('select after_path from warm_run where domain_id = $1', [domain])
    assert.deepEqual(rows, [{ after_path: '' }])
  })

  it('begins a run anew that is under way: what was done before may have changed', async () => {
    const domain = await queue.domain()
    await requestWarmRun(queue.pool, domain)
    await queue.pool.query(`update warm_run set after_path = '/m' where domain_id = $1`, [domain])
    await requestWarmRun(queue.pool, domain)
    const { rows } = await queue.pool.query('select after_path from warm_run where domain_id = $1', [domain])
    assert.deepEqual(rows, [{ after_path: '' }])
  })
})
