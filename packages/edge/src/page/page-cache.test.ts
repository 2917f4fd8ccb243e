import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { type Aged, freshnessOf } from '@prepaint/contract/page/freshness.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredEntry, StoredPage } from '@prepaint/contract/page/stored.ts'
import { parseInvalidations } from '@prepaint/runtime/invalidation.ts'
import { until } from '../../../../test/support/condition.ts'
import { PageCache } from './page-cache.ts'

// PostgreSQL is played here: only so can an answer be held back between two notifications.
const newDatabase = () => ({
  ...{ stored: new Map<string, StoredEntry>(), reads: [] as string[], held: null as Promise<void> | null },
  ...{ fails: false, connected: true, isAway: false, compared: [] as string[] },
})
let database = newDatabase()

beforeEach(() => {
  database = newDatabase()
})

function startCache(limitBytes = 1_000_000, compareMs?: number) {
  return new PageCache<{ kind: 'page' | 'redirect'; renderedAtMs: number; bytes: number; etag: string }>({
    limitBytes,
    compareMs,
    connected: () => database.connected,
    isAway: () => database.isAway,
    versionOf: ({ etag, renderedAtMs }) => ({
      ...{ etag, renderedAtMs, staleSinceMs: null, ruleEffect: '', bodyBr: null },
    }),
    async readAgain({ key }, { etag }) {
      database.compared.push(key)
      const entry = database.stored.get(key) ?? null
      await database.held
      if (database.fails) throw new Error('no database')
      return entry?.kind === 'page' && entry.etag === etag ? 'same' : entry
    },
    prepare: ({ renderedAtMs, ...entry }) =>
      entry.kind === 'page'
        ? { kind: 'page', renderedAtMs, bytes: entry.bodyBr.length, etag: entry.etag }
        : { kind: 'redirect', renderedAtMs, bytes: 100, etag: entry.location },
    async read({ key }) {
      database.reads.push(key)
      const entry = database.stored.get(key) ?? null
      await database.held
      if (database.fails) throw new Error('no database')
      return entry
    },
  })
}

const key = (path: string, domain = 1) => pageId(domain as DomainId, path as PagePath)
const notify = (cache: ReturnType<typeof startCache>, payload: object) => {
  for (const what of parseInvalidations(JSON.stringify(payload))) cache.held.invalidate(what)
}

const NEW = { variant: 'desktop', renderedAtMs: 0, staleSinceMs: null } as const

function store(path: string, etag: string, domain = 1, bytes = 100): void {
  const rest = { status: 200, htmlBytes: 0, headers: [], ...NEW }
  database.stored.set(`${domain}${path}`, { kind: 'page', etag, bodyBr: Buffer.alloc(bytes), ...rest })
}

function redirect(path: string): void {
  database.stored.set(`1${path}`, { kind: 'redirect', status: 301, location: '/', ...NEW })
}

/** The next read of the store waits until it is let go. */
function hold(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  database.held = promise
  return resolve
}

describe('what was stored a moment ago', () => {
  const fresh = (path: string, renderedAtMs = 1_000): StoredPage => {
    store(path, 'new')
    const page = { ...(database.stored.get(`1${path}`) as StoredPage), renderedAtMs }
    database.stored.set(`1${path}`, page)
    return page
  }
  it('is not admitted once it is purged, or something is said that is not understood', () => {
    const payloads = [{ domain: 1, path: '/a', purged: true }, { domain: 1, prefix: '/' }, { domain: 1 }, {}]
    for (const payload of payloads) {
      const cache = startCache()
      const admit = cache.admission(key('/a'))
      notify(cache, payload)
      assert.equal(admit(fresh('/a')), null, JSON.stringify(payload))
    }
  })

  it('is admitted when pages were stored meanwhile, its own among them, and another domain was purged', async () => {
    const cache = startCache()
    const admit = cache.admission(key('/a'))
    notify(cache, { domain: 1, path: '/b', stored: 999 })
    notify(cache, { domain: 1, path: '/a', stored: 1_000 })
    notify(cache, { domain: 1, path: '/c' })
    notify(cache, { domain: 2 })
    assert.equal(admit(fresh('/a'))?.etag, 'new')
    assert.equal((await cache.find(key('/a')))?.etag, 'new')
    assert.deepEqual(database.reads, [], 'it is in memory')
  })

  it('stays in memory when its own notification comes behind it, and goes with any other', () => {
    const others = [{ stored: 1_001 }, {}, { purged: true }, { stored: 1_000, purged: true }]
    for (const other of others) {
      const cache = startCache()
      cache.admission(key('/a'))(fresh('/a'))
      notify(cache, { domain: 1, path: '/a', stored: 1_000 })
      assert(!(cache.find(key('/a')) instanceof Promise))
      notify(cache, { domain: 1, path: '/a', ...other })
      assert(cache.find(key('/a')) instanceof Promise, JSON.stringify(other))
    }
  })

  it('is given, but not put into memory, when one that was stored later was heard of first', () => {
    const cache = startCache()
    const admit = cache.admission(key('/a'))
    notify(cache, { domain: 1, path: '/a', stored: 1_001 })
    assert.equal(admit(fresh('/a'))?.etag, 'new')
    assert.equal(cache.entries, 0)
  })

  it('is not admitted where notifications were lost, before it or since', () => {
    const cache = startCache()
    const early = cache.admission(key('/a'))
    database.connected = false
    cache.held.lost()
    const late = cache.admission(key('/a'))
    database.connected = true
    assert.deepEqual([early(fresh('/a')), late(fresh('/a'))], [null, null])
  })
})

describe('memory', () => {
  it('joins reads of the same page, and remembers no absence', async () => {
    const cache = startCache()
    const asked = [cache.find(key('/a')), cache.find(key('/a'))]
    assert.deepEqual(await Promise.all(asked), [null, null])
    assert.equal(database.reads.length, 1)
    store('/a', 'one')
    assert.equal((await cache.find(key('/a')))?.etag, 'one')
  })

  it('keeps domains apart, also where digits and paths could run together', async () => {
    const cache = startCache()
    store('/1', 'red', 1)
    store('/1', 'blue', 11)
    await cache.find(key('/1', 1))
    await cache.find(key('/1', 11))
    notify(cache, { domain: 1 })
    assert(cache.find(key('/1', 1)) instanceof Promise)
    assert.equal((await cache.find(key('/1', 11)))?.etag, 'blue')
  })

  it('stays below its limit, drops what was not asked for longest, and lets no giant in', async () => {
    const cache = startCache(10_000)
    for (let page = 0; page < 100; page++) {
      store(`/${page}`, `${page}`, 1, 500)
      await cache.find(key(`/${page}`))
      assert(cache.bytes <= 10_000)
    }
    assert(!(cache.find(key('/99')) instanceof Promise))
    assert(cache.find(key('/0')) instanceof Promise)
    store('/giant', 'giant', 1, 5_000)
    await cache.find(key('/giant'))
    assert(cache.find(key('/giant')) instanceof Promise)
    assert(cache.entries > 5)
  })

  it('weighs an entry again that has grown', async () => {
    const cache = startCache()
    store('/a', 'one')
    const entry = (await cache.find(key('/a')))!
    const before = cache.bytes
    entry.bytes += 1_000
    cache.grown(key('/a'), entry)
    assert.equal(cache.bytes, before + 1_000)
  })
})

describe('notifications', () => {
  const cases: [name: string, payload: object, gone: string][] = [
    ['of one path that was stored', { domain: 1, path: '/a' }, '/a'],
    ['of one path that was purged', { domain: 1, path: '/a', purged: true }, '/a /old'],
    ['of a prefix', { domain: 1, prefix: '/a', purged: true }, '/a /a/b /old'],
    ['of a domain', { domain: 1 }, '/ /a /a/b /old'],
    ['of another domain', { domain: 2 }, ''],
    ['of a host or an account', { host: 'red.example' }, ''],
    ['that nobody understands', { moon: 'full' }, '/ /a /a/b /old'],
  ]
  for (const [name, payload, gone] of cases) {
    it(name, async () => {
      const cache = startCache()
      for (const path of ['/', '/a', '/a/b']) store(path, path)
      redirect('/old')
      const paths = ['/', '/a', '/a/b', '/old']
      for (const path of paths) await cache.find(key(path))
      notify(cache, payload)
      assert.equal(paths.filter((path) => cache.find(key(path)) instanceof Promise).join(' '), gone)
    })
  }

  it('win over a read that began before them', async () => {
    for (const payload of [{ domain: 1, path: '/a' }, {}]) {
      const cache = startCache()
      store('/a', 'old')
      const resolve = hold()
      const reading = cache.find(key('/a'))
      notify(cache, payload)
      store('/a', 'new')
      resolve()
      assert.equal((await reading)?.etag, 'old')
      assert.equal((await cache.find(key('/a')))?.etag, 'new')
    }
  })

  it('who asks after a notification does not join the read from before it', async () => {
    const cache = startCache()
    store('/a', 'old')
    const resolve = hold()
    const reading = cache.find(key('/a'))
    notify(cache, { domain: 1, path: '/a' })
    store('/a', 'new')
    const after = cache.find(key('/a'))
    resolve()
    assert.deepEqual([(await reading)?.etag, (await after)?.etag], ['old', 'new'])
  })
})

describe('while notifications are lost', () => {
  const lose = (cache: ReturnType<typeof startCache>) => {
    database.connected = false
    cache.held.lost()
  }
  const regain = (cache: ReturnType<typeof startCache>) => {
    database.connected = true
    cache.held.lost()
  }

  it('what is in memory is compared at each use, and replaced if it is another version', async () => {
    const cache = startCache()
    store('/a', 'old')
    await cache.find(key('/a'))
    lose(cache)
    store('/a', 'new')
    assert.equal((await cache.find(key('/a')))?.etag, 'new')
    assert.equal((await cache.find(key('/a')))?.etag, 'new')
    assert.deepEqual([database.reads.length, database.compared.length], [1, 2])
  })

  it('memory answers when PostgreSQL does not, and what is not in memory is an error', async () => {
    const cache = startCache()
    store('/a', 'old')
    await cache.find(key('/a'))
    lose(cache)
    database.fails = true
    assert.equal((await cache.find(key('/a')))?.etag, 'old')
    await assert.rejects(async () => cache.find(key('/b')), /no database/)
  })

  it('memory answers when PostgreSQL is too slow, and the late answer takes the mark', async () => {
    const cache = startCache(undefined, 1)
    store('/a', 'old')
    const entry = await cache.find(key('/a'))
    lose(cache)
    regain(cache)
    const resolve = hold()
    assert.equal(await cache.find(key('/a')), entry)
    assert.equal(await cache.find(key('/a')), entry, 'nobody waits for it a second time')
    assert.equal(cache.inMemory(key('/a')), undefined)
    resolve()
    await until('the mark is gone', () => cache.inMemory(key('/a')) === entry)
    assert.equal(database.compared.length, 1)
  })

  it('memory asks again when PostgreSQL was too slow while notifications were still lost', async () => {
    const cache = startCache(undefined, 1)
    store('/a', 'old')
    const entry = await cache.find(key('/a'))
    lose(cache)
    const resolve = hold()
    assert.equal(await cache.find(key('/a')), entry)
    resolve()
    await until('it is asked again', async () => {
      assert.equal(await cache.find(key('/a')), entry)
      return database.compared.length === 2
    })
  })

  it('memory answers at once while PostgreSQL is known to be away', async () => {
    const cache = startCache()
    store('/a', 'old')
    const entry = await cache.find(key('/a'))
    lose(cache)
    database.isAway = true
    assert.equal(cache.find(key('/a')), entry)
    assert.equal(cache.inMemory(key('/a')), entry)
    assert.deepEqual(database.compared, [])
  })

  it('each page is compared once when they are back, by one question for requests of the same time', async () => {
    const cache = startCache()
    store('/a', 'old')
    const entry = await cache.find(key('/a'))
    lose(cache)
    regain(cache)
    assert.equal(cache.inMemory(key('/a')), undefined)
    assert.deepEqual(await Promise.all([cache.find(key('/a')), cache.find(key('/a'))]), [entry, entry])
    assert.equal(cache.find(key('/a')), entry)
    assert.deepEqual([database.reads.length, database.compared.length], [1, 1])
  })

  it('a page that was purged meanwhile is gone from the first answered question on', async () => {
    const cache = startCache()
    store('/a', 'old')
    await cache.find(key('/a'))
    lose(cache)
    database.stored.clear()
    database.fails = true
    assert.equal((await cache.find(key('/a')))?.etag, 'old')
    regain(cache)
    database.fails = false
    assert.equal(await cache.find(key('/a')), null)
    assert.equal(cache.entries, 0)
  })

  it('the mark stays after a second loss, and where the question fails', async () => {
    const cache = startCache()
    store('/a', 'old')
    await cache.find(key('/a'))
    lose(cache)
    regain(cache)
    const resolve = hold()
    const comparing = cache.find(key('/a'))
    lose(cache)
    resolve()
    assert.equal((await comparing)?.etag, 'old')
    regain(cache)
    database.fails = true
    assert.equal((await cache.find(key('/a')))?.etag, 'old')
    database.fails = false
    assert(cache.find(key('/a')) instanceof Promise)
  })

  it('what was read before they were back is compared again', async () => {
    const cache = startCache()
    store('/a', 'old')
    lose(cache)
    const resolve = hold()
    const reading = cache.find(key('/a'))
    regain(cache)
    resolve()
    await reading
    store('/a', 'new')
    assert.equal((await cache.find(key('/a')))?.etag, 'new')
  })

  it('a purge that is heard while a page is compared wins', async () => {
    const cache = startCache()
    store('/a', 'old')
    await cache.find(key('/a'))
    lose(cache)
    regain(cache)
    const resolve = hold()
    const comparing = cache.find(key('/a'))
    notify(cache, { domain: 1 })
    database.stored.clear()
    resolve()
    assert.equal((await comparing)?.etag, 'old', 'it asked before the purge')
    assert.equal(await cache.find(key('/a')), null)
  })
})

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const lifetimes = { freshMs: 10 * HOUR, staleMs: 20 * HOUR, keepMs: 100 * HOUR }

const page = (fields: Partial<Aged> = {}): Aged => ({
  ...{ status: 200, renderedAtMs: 0, staleSinceMs: null, ...fields },
})
const LIFE_OF: [string, Aged, endsAt: [fresh: number, stale: number, kept: number]][] = [
  ['a page', page(), [10 * HOUR, 30 * HOUR, 100 * HOUR]],
  ['a page that an event made stale', page({ staleSinceMs: HOUR }), [HOUR, 21 * HOUR, 100 * HOUR]],
  ['an event after its time', page({ staleSinceMs: 12 * HOUR }), [10 * HOUR, 30 * HOUR, 100 * HOUR]],
  ['404, never stale', page({ status: 404 }), [HOUR, HOUR, 100 * HOUR]],
  ['a permanent redirect', page({ status: 301 }), [10 * HOUR, 30 * HOUR, 100 * HOUR]],
  ['a temporary redirect', page({ status: 307 }), [HOUR, 21 * HOUR, 100 * HOUR]],
]
for (const [name, entry, [fresh, stale, kept]] of LIFE_OF) {
  it(`freshness of ${name}: each state up to the last millisecond and from the next`, () => {
    const at = (nowMs: number) => freshnessOf(entry, lifetimes, nowMs)
    assert.deepEqual([at(0), at(fresh - 1)], ['fresh', 'fresh'])
    if (stale > fresh) assert.deepEqual([at(fresh), at(stale - 1)], ['stale', 'stale'])
    assert.deepEqual([at(stale), at(kept - 1), at(kept)], ['kept', 'kept', 'gone'])
  })
}
