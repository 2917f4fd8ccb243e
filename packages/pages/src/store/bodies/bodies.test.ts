import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { NO_SUCH_KEY, TestObjectStore } from '../../../../../test/support/object-store.ts'
import { openQueue, RENDERED } from '../../../../../test/support/queue.ts'
import { Converter } from '../../forms/converter.ts'
import { PageForms } from '../../forms/stored-form.ts'
import { deletePageWithBody } from '../purge.ts'
import { removeExpired } from '../remove-expired.ts'
import { htmlOf, readStored } from '../stored-page.ts'
import { BodyStore, INLINE_BYTES, NO_METER, STORE_OBJECT } from './body-store.ts'
import { admitStore, checkBodies, countForeign, countStored } from './check.ts'
import { DiskTier } from './disk-tier.ts'
import { readBodyFigures } from './figures.ts'
import { adoptBodies, countInline, moveBodies, moveLate, setDirection } from './move.ts'
import { settleRestoredBodies } from './restored.ts'
import { DeletionSize, S3Client, StoreUnreachable } from './s3-client.ts'
import { checkSample } from './sample.ts'
import { parseStoreAddress, shownAddress } from './store-address.ts'
import { DUE, sweepBodies } from './sweep.ts'
import { BodyUpkeep } from './upkeep.ts'

const queue = await openQueue()
const { pool, column } = queue
const store = await TestObjectStore.start()
let missing = 0
const reads: string[] = []
const meter = { ...NO_METER, read: (from: string) => void reads.push(from), missing: () => void missing++ }
const open: BodyStore[] = []
/** As a node that has just started, which remembers no failure. */
const openBodies = () => {
  const bodies = new BodyStore(store.address, pool, silentLog(), { meter })
  open.push(bodies)
  return bodies
}
let bodies = openBodies()

beforeEach(async () => {
  await pool.query('truncate page, page_form, body_gone, body_store cascade')
  store.mode = 'works'
  store.stored = () => {}
  store.objects.clear()
  store.undeletable.clear()
  store.stalled.clear()
  store.refused.clear()
  store.unanswered.clear()
  store.deletionAnswer = null
  store.missingAnswer = NO_SUCH_KEY
  await checkBodies(pool, store.address)
  bodies = openBodies()
  store.requests.length = 0
  reads.length = 0
  missing = 0
})
after(async () => {
  await Promise.all(open.map((each) => each.close()))
  store.close()
})

/** Some ten kilobytes, also as brotli. */
const longHtml = () => `<!doctype html><h1>${randomBytes(10_000).toString('base64')}</h1>`

async function render(domain: DomainId, html: string, path = '/'): Promise<string> {
  const job = await queue.running(domain, path)
  const end = await queue.completer({ bodies })(job, { ...RENDERED, html } as never)
  return 'outcome' in end ? end.outcome : end.state
}

const keys = () => column<string>('select body_key from page where body_key is not null order by 1')
const condemned = () => column<string>('select key from body_gone where at <= clock_timestamp() order by 1')
const reserved = () => column<string>('select key from body_gone where at > clock_timestamp()')
const objects = () => [...store.objects.keys()].filter((name) => name !== STORE_OBJECT).sort()
const puts = () => store.requests.filter((request) => request.startsWith('PUT')).length
const page = (domain: DomainId, path = '/') => pageId(domain, path as PagePath)
async function read(domain: DomainId, path = '/'): Promise<string | null> {
  const found = await readStored(pool, page(domain, path), bodies)
  return found?.kind === 'page' ? htmlOf(found) : null
}

describe('a rendered page', () => {
  it('has its body in the store, with key, length and sum in its row, and is read whole', async () => {
    const domain = await queue.domain()
    const html = longHtml()
    assert.equal(await render(domain, html), 'rendered')
    const [key] = await keys()
    assert.match(key!, new RegExp(`^${domain}/[0-9a-f]{32}$`))
    assert.deepEqual(objects(), [key])
    const { rows } = await pool.query('select body_br, body_bytes, length(body_sum) as sum from page')
    assert.deepEqual(rows, [{ body_br: null, body_bytes: store.objects.get(key!)!.length, sum: 8 }])
    assert.deepEqual([await condemned(), await reserved()], [[], []])
    assert.equal(await read(domain), html)
    assert.deepEqual(reads, ['store'])
  })

  it('keeps a short body in its row', async () => {
    const domain = await queue.domain()
    await render(domain, '<h1>short</h1>')
    assert.deepEqual([await keys(), objects()], [[], []])
    assert.equal(await read(domain), '<h1>short</h1>')
    assert.deepEqual(reads, ['database'])
  })

  it('goes into the store from one byte above the limit', async () => {
    const domain = await queue.domain()
    assert.equal((await bodies.put(domain, Buffer.alloc(INLINE_BYTES))).at, 'row')
    assert.equal((await bodies.put(domain, Buffer.alloc(INLINE_BYTES + 1))).at, 'store')
  })

  it('is not put again if it is the same as before', async () => {
    const domain = await queue.domain()
    const html = longHtml()
    await render(domain, html)
    const [key] = await keys()
    store.requests.length = 0
    await render(domain, html)
    assert.deepEqual([puts(), await keys(), await condemned()], [0, [key], []])
  })

  it('condemns the body that it replaces', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    const [first] = await keys()
    const html = longHtml()
    await render(domain, html)
    assert.deepEqual(await condemned(), [first])
    assert.equal(await read(domain), html)
  })

  it('has its body in the row while the store is silent, and is moved when it is back', async () => {
    const domain = await queue.domain()
    store.mode = 'silent'
    const html = longHtml()
    assert.equal(await render(domain, html), 'rendered')
    assert.equal(await read(domain), html)
    const { late, oldestLateSeconds } = await readBodyFigures(pool)
    assert(late === 1 && oldestLateSeconds > 0)
    store.requests.length = 0
    assert.equal(await render(domain, longHtml(), '/b'), 'rendered')
    assert.equal(puts(), 0, 'within two seconds of a failure nothing is put')

    store.mode = 'works'
    bodies = openBodies()
    assert.deepEqual(await moveLate(pool, bodies, new AbortController().signal), {
      moved: 2,
      left: 0,
      failed: 0,
    })
    assert.deepEqual(objects(), await keys())
    assert.equal((await readBodyFigures(pool)).late, 0)
    assert.equal(await read(domain), html)
  })

  it('has its body in the row if its key is not reserved any more when it is stored', async () => {
    const domain = await queue.domain()
    store.stored = async () =>
      void (await pool.query(`update body_gone set at = now() - interval '1 second'`))
    const html = longHtml()
    assert.equal(await render(domain, html), 'rendered')
    assert.deepEqual(await keys(), [])
    assert.deepEqual(await condemned(), objects())
    assert.equal(await read(domain), html)
  })

  it('condemns the key again if it was swept while the object was on its way', async () => {
    const domain = await queue.domain()
    store.stored = async () => void (await pool.query('delete from body_gone'))
    await render(domain, longHtml())
    assert.deepEqual(await condemned(), objects())
    assert.equal(objects().length, 1)
  })

  it('leaves a purged job without a row: the object is swept after its reservation', async () => {
    const domain = await queue.domain()
    store.stored = async () => void (await pool.query('update job set superseded = true'))
    await render(domain, longHtml())
    assert.deepEqual([await keys(), (await reserved()).length], [[], 1])
    await pool.query('update body_gone set at = now()')
    await sweepBodies(pool, bodies.client!, { minAgeSeconds: 0 })
    assert.deepEqual(objects(), [])
  })
})

describe('a body is condemned when its page', () => {
  it('is purged, expires, or goes with its domain', async () => {
    const [purged, expired, deleted] = [await queue.domain(), await queue.domain(), await queue.domain()]
    for (const domain of [purged, expired, deleted]) await render(domain, longHtml())
    const all = await keys()
    await queue.purge(purged, { kind: 'all' })
    assert.equal((await condemned()).length, 1)
    await pool.query(`update page set rendered_at = now() - interval '400 days' where domain_id = $1`, [
      expired,
    ])
    await removeExpired(pool)
    assert.equal((await condemned()).length, 2)
    await pool.query('delete from domain where id = $1', [deleted])
    assert.deepEqual(await condemned(), all)
  })

  it('goes, with the bodies of its Markdown and its card', async () => {
    const domain = await queue.domain()
    const words = Array.from({ length: 3_000 }, () => randomBytes(4).toString('hex')).join(' ')
    await render(domain, `<!doctype html><main><h1>Words</h1><p>${words}</p></main>`)
    const forms = new PageForms(pool, pool, new Converter(), bodies, silentLog())
    const stored = await readStored(pool, page(domain), bodies)
    assert(stored?.kind === 'page')
    const source = { etag: stored.etag, isStored: true, changedAtMs: 0, html: () => htmlOf(stored) }
    const find = () => forms.find('markdown', { account: 1, name: 'a.example' }, page(domain), source)
    const made = await find()
    assert(made !== null && made !== 'busy')
    await until(
      'the form is stored',
      async () => (await column('select body_key from page_form')).length === 1,
    )
    const [formKey] = await column<string>('select body_key from page_form')
    assert.deepEqual(objects(), [...(await keys()), formKey].sort())
    const again = await find()
    assert(again !== null && again !== 'busy')
    assert(again.bodyBr.equals(made.bodyBr))
    await queue.purge(domain, { kind: 'all' })
    assert.deepEqual(await condemned(), objects())
  })
})

describe('a body that cannot be read', () => {
  it('is asked for again two seconds after a failure, and no request waits meanwhile', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    store.mode = 'silent'
    bodies = openBodies()
    await assert.rejects(read(domain), BodyUnavailable)
    store.requests.length = 0
    store.mode = 'works'
    await assert.rejects(read(domain), BodyUnavailable)
    assert.deepEqual(store.requests, [])
    bodies = openBodies()
    assert.notEqual(await read(domain), null)
  })

  for (const [what, damage] of Object.entries<(key: string) => void>({
    missing: (key) => store.objects.delete(key),
    'missing, and the store gives no code': (key) => {
      store.missingAnswer = ''
      store.objects.delete(key)
    },
    shorter: (key) => store.objects.set(key, store.objects.get(key)!.subarray(1)),
    'another one of the same length': (key) =>
      store.objects.set(key, randomBytes(store.objects.get(key)!.length)),
  })) {
    it(`deletes its page if it is ${what}, which is counted, and warms know the path`, async () => {
      const domain = await queue.domain()
      await render(domain, longHtml(), '/kept')
      const [key] = await keys()
      damage(key!)
      assert.equal(await read(domain, '/kept'), null)
      assert.deepEqual([await queue.stored(domain), missing], [[], 1])
      assert.deepEqual(await column('select path from known_path where domain_id = $1', domain), ['/kept'])
      assert.deepEqual(await condemned(), [key])
    })
  }

  it('deletes no page if the store refuses, has lost its bucket, or is another one', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    const [key] = await keys()
    for (const mode of [
      { status: 403, code: 'AccessDenied' },
      { status: 404, code: 'NoSuchBucket' },
      { status: 503, code: 'SlowDown' },
    ]) {
      bodies = openBodies()
      store.mode = mode
      await assert.rejects(read(domain), BodyUnavailable)
    }
    store.mode = 'works'
    bodies = openBodies()
    store.objects.delete(key!)
    store.objects.set(STORE_OBJECT, Buffer.from('another'))
    await assert.rejects(read(domain), BodyUnavailable)
    bodies = openBodies()
    store.missingAnswer = ''
    store.objects.clear()
    await assert.rejects(read(domain), BodyUnavailable)
    assert.deepEqual(await keys(), [key])
  })

  it('deletes no page if a page of maintenance is the answer to everything', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    const [key] = await keys()
    const intact = new Map(store.objects)
    for (const name of store.objects.keys()) store.objects.set(name, Buffer.from('<h1>Back soon</h1>'))
    await assert.rejects(read(domain), BodyUnavailable)
    const { failed } = await checkSample(pool, bodies, 1)
    assert.deepEqual([await keys(), missing, failed], [[key], 0, 1])
    for (const [name, body] of intact) store.objects.set(name, body)
    bodies = openBodies()
    assert.notEqual(await read(domain), null)
  })

  it('is found in the row if it was moved there after the row was read', async () => {
    const domain = await queue.domain()
    const html = longHtml()
    await render(domain, html)
    const [key] = await keys()
    const body = store.objects.get(key!)!
    // What a reader finds that has read the row before the move: no object.
    const moved = new BodyStore(store.address, pool, silentLog(), {
      disk: {
        put() {},
        drop() {},
        async close() {},
        async get() {
          await pool.query(
            'update page set body_br = $1, body_key = null, body_bytes = null, body_sum = null',
            [body],
          )
          store.objects.delete(key!)
          return null
        },
      },
    })
    open.push(moved)
    const found = await readStored(pool, page(domain), moved)
    assert(found?.kind === 'page')
    assert.equal(await htmlOf(found), html)
  })
})

describe('objects of one domain', () => {
  const HTML = longHtml()
  /** Two domains with one page each, of which the first one's object fails. */
  const two = async (fail: (key: string) => void) => {
    const [bad, good] = [await queue.domain(), await queue.domain()]
    await render(bad, longHtml())
    fail((await keys())[0]!)
    await render(good, HTML)
    return { bad, good }
  }

  for (const [what, fail] of Object.entries<(key: string) => void>({
    'that come slowly': (key) => store.stalled.add(key),
    'that are refused': (key) => store.refused.add(key),
    'that are too long': (key) => store.objects.set(key, Buffer.alloc(65 * 1024 * 1024)),
  })) {
    it(`${what} stop no other domain`, async () => {
      const { bad, good } = await two(fail)
      await assert.rejects(read(bad), BodyUnavailable)
      assert.equal(await read(good), HTML)
    })
  }

  it('that are not answered stop others until the store answers, not until they do', async () => {
    let seconds = 0
    const { bad, good } = await two((key) => store.unanswered.add(key))
    bodies = new BodyStore(store.address, pool, silentLog(), { stopwatch: () => seconds })
    open.push(bodies)
    await assert.rejects(read(bad), BodyUnavailable)
    seconds = 2
    store.requests.length = 0
    const again = assert.rejects(read(bad), BodyUnavailable)
    await until('the store was asked', () => store.requests.length > 1)
    assert.equal(await read(good), HTML)
    await again
  })

  it('leave places to others however many are read', async () => {
    const { bad, good } = await two((key) => store.stalled.add(key))
    const { rows } = await pool.query(
      'select body_key as key, body_bytes as bytes, body_sum as sum from page where domain_id = $1',
      [bad],
    )
    const slow = Array.from({ length: 200 }, () => assert.rejects(bodies.read(rows[0]), BodyUnavailable))
    await until(
      'some are read',
      () => store.requests.filter((each) => each === `GET ${rows[0].key}`).length > 10,
    )
    assert.equal(await read(good), HTML)
    await Promise.all(slow)
  })

  it('of several domains that fail are a failure of the store', async () => {
    const domains = [await queue.domain(), await queue.domain(), await queue.domain(), await queue.domain()]
    for (const domain of domains) await render(domain, longHtml())
    for (const key of await keys()) store.refused.add(key)
    for (const domain of domains.slice(1)) await assert.rejects(read(domain), BodyUnavailable)
    store.requests.length = 0
    await assert.rejects(read(domains[0]!), BodyUnavailable)
    assert.deepEqual(store.requests, [])
  })
})

it('connections that died silently are all closed after the first', async () => {
  let seconds = 0
  bodies = new BodyStore(store.address, pool, silentLog(), { stopwatch: () => seconds })
  open.push(bodies)
  const domain = await queue.domain()
  const paths = ['/a', '/b', '/c', '/d']
  for (const path of paths) await render(domain, longHtml(), path)
  await Promise.all(paths.map((path) => read(domain, path)))
  assert(store.forgetConnections() > 1)
  await assert.rejects(read(domain, '/a'), BodyUnavailable)
  seconds = 2
  assert.notEqual(await read(domain, '/a'), null)
})

describe('another bucket in the place of the store', () => {
  const swap = () => store.objects.set(STORE_OBJECT, Buffer.from('another'))

  it('gets no body after a read has found it out', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    store.objects.clear()
    swap()
    await assert.rejects(read(domain), BodyUnavailable)
    const html = longHtml()
    await render(domain, html, '/next')
    assert.deepEqual([objects(), (await readBodyFigures(pool)).late], [[], 1])
    assert.equal(await read(domain, '/next'), html)
  })

  it('is found out within a minute if nothing fails', async () => {
    let seconds = 0
    bodies = new BodyStore(store.address, pool, silentLog(), { stopwatch: () => seconds })
    open.push(bodies)
    const domain = await queue.domain()
    await render(domain, longHtml())
    const before = objects()
    swap()
    seconds = 60
    await render(domain, longHtml(), '/next')
    assert.deepEqual([objects(), (await readBodyFigures(pool)).late], [before, 1])
  })
})

describe('bodies on disk', () => {
  const LIMIT_BYTES = 100_000
  const HOUR_MS = 3_600_000
  let laterMs = 0
  beforeEach(() => {
    laterMs = 0
  })
  const dirs: string[] = []
  const makeDir = () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bodies-'))
    dirs.push(dir)
    return dir
  }
  after(() => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
  })
  const openDisk = (dir: string, process = { at: 0, of: 1 }) =>
    new DiskTier(dir, LIMIT_BYTES, process, { nowMs: () => Date.now() + laterMs }, silentLog())
  const withDisk = (disk: DiskTier) => new BodyStore(store.address, pool, silentLog(), { meter, disk })
  const keyOf = (digits: string) => `7/${digits.repeat(32)}`
  const filesIn = (dir: string) =>
    readdirSync(path.join(dir, 'bodies'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort()

  it('are served while the store is dead, by their rows, and again after a restart', async () => {
    const dir = makeDir()
    let disk = openDisk(dir)
    bodies = withDisk(disk)
    const domain = await queue.domain()
    const html = longHtml()
    await render(domain, html)
    store.mode = 'silent'
    await until('it is on disk', () => disk.bytes > 0)
    assert.equal(await read(domain), html)
    await bodies.close()
    disk = openDisk(dir)
    bodies = withDisk(disk)
    await disk.found
    assert.equal(await read(domain), html)
    assert.deepEqual(reads, ['disk', 'disk'])
    const [key] = await keys()
    const name = key!.split('/')[1]!
    assert.deepEqual(filesIn(dir), [name])
    const { mode } = statSync(path.join(dir, 'bodies', name.slice(0, 2), name))
    assert.equal(mode & 0o777, 0o600)
    await queue.purge(domain, { kind: 'all' })
    assert.equal(await read(domain), null)
    await bodies.close()
  })

  it('that are damaged are read from the store, and kept again', async () => {
    const dir = makeDir()
    const disk = openDisk(dir)
    bodies = withDisk(disk)
    const domain = await queue.domain()
    const html = longHtml()
    await render(domain, html)
    await until('it is on disk', () => disk.bytes > 0)
    const [name] = filesIn(dir)
    const file = path.join(dir, 'bodies', name!.slice(0, 2), name!)
    const { size } = statSync(file)
    writeFileSync(file, 'damaged')
    assert.equal(await read(domain), html)
    await until('it is whole', () => existsSync(file) && statSync(file).size === size)
    assert.equal(await read(domain), html)
    assert.deepEqual([reads, missing], [['store', 'disk'], 0])
    await bodies.close()
  })

  it('that are damaged are deleted by whichever process finds it out', async () => {
    const dir = makeDir()
    const disks = [openDisk(dir, { at: 0, of: 2 }), openDisk(dir, { at: 1, of: 2 })]
    await Promise.all(disks.map(({ found }) => found))
    const domain = await queue.domain()
    await render(domain, longHtml())
    const [key] = await keys()
    const body = store.objects.get(key!)!
    for (const disk of disks) disk.put(key!, body)
    await until('it is on disk', () => disks.some(({ bytes }) => bytes > 0))
    const other = disks.find(({ bytes }) => bytes === 0)!
    const [name] = filesIn(dir)
    const file = path.join(dir, 'bodies', name!.slice(0, 2), name!)
    writeFileSync(file, 'damaged')
    bodies = withDisk(other)
    assert.notEqual(await read(domain), null)
    await until('it is gone', () => !existsSync(file))
    await Promise.all(disks.map((disk) => disk.close()))
    await bodies.close()
  })

  it('stay within the limit: the least recently used go first', async () => {
    const dir = makeDir()
    const disk = openDisk(dir)
    const keep = async (digits: string, bytes: number) => {
      disk.put(keyOf(digits), Buffer.alloc(bytes, digits))
      await until('it is kept, or not', () => filesIn(dir).includes(digits.repeat(32)))
    }
    await keep('a', 50_000)
    await keep('b', 50_000)
    assert.equal(disk.bytes, LIMIT_BYTES)
    assert.notEqual(await disk.get(keyOf('a')), null)
    await keep('c', 1)
    await until('one is gone', () => filesIn(dir).length === 2)
    assert.deepEqual([await disk.get(keyOf('b')), disk.bytes], [null, 50_001])
    assert.deepEqual(await disk.get(keyOf('c')), Buffer.from('c'))
    disk.put(keyOf('d'), Buffer.alloc(LIMIT_BYTES + 1))
    await disk.close()
    assert.deepEqual(filesIn(dir), ['a'.repeat(32), 'c'.repeat(32)])
  })

  it('of two processes are kept by one of them, within its share, and read by both', async () => {
    const dir = makeDir()
    const [first, second] = [openDisk(dir, { at: 0, of: 2 }), openDisk(dir, { at: 1, of: 2 })]
    for (const disk of [first, second])
      for (const digits of ['a', 'b']) disk.put(keyOf(digits), Buffer.from(digits))
    await Promise.all([first.close(), second.close()])
    assert.deepEqual([first.bytes, second.bytes], [1, 1])
    for (const disk of [first, second]) assert.deepEqual(await disk.get(keyOf('b')), Buffer.from('b'))
    const share = openDisk(makeDir(), { at: 0, of: 2 })
    share.put(keyOf('a'), Buffer.alloc(LIMIT_BYTES / 2 + 1))
    share.put(keyOf('c'), Buffer.alloc(LIMIT_BYTES / 2))
    await share.close()
    assert.equal(share.bytes, LIMIT_BYTES / 2)
  })

  it('go when they were not used for 22 hours, also those that were purged', async () => {
    const dir = makeDir()
    const disk = openDisk(dir)
    bodies = withDisk(disk)
    const domain = await queue.domain()
    await render(domain, longHtml(), '/purged')
    await render(domain, longHtml(), '/read')
    await until('they are on disk', () => filesIn(dir).length === 2)
    await queue.purge(domain, { kind: 'path', path: '/purged' as PagePath })
    assert.equal(await read(domain, '/purged'), null)
    const [kept] = await keys()
    laterMs = 21 * HOUR_MS
    await read(domain, '/read')
    await disk.removeUnused()
    assert.equal(filesIn(dir).length, 2)
    laterMs = 22.1 * HOUR_MS
    await disk.removeUnused()
    const left = [kept!.split('/')[1]!]
    await until('the purged one is gone', () => filesIn(dir).length === 1)
    assert.deepEqual(filesIn(dir), left)
    await disk.close()
    assert.deepEqual(reads, ['disk'])

    const again = openDisk(dir)
    await again.found
    await again.close()
    assert.deepEqual(filesIn(dir), left, 'a start knows when it was used')
    laterMs = 44 * HOUR_MS
    const later = openDisk(dir)
    await later.found
    await later.close()
    assert.deepEqual(filesIn(dir), [])
  })

  it('stay while another process of the edge uses them', async () => {
    const dir = makeDir()
    const [owner, other] = [openDisk(dir, { at: 0, of: 2 }), openDisk(dir, { at: 1, of: 2 })]
    owner.put(keyOf('a'), Buffer.from('a'))
    await until('it is on disk', () => owner.bytes > 0)
    const file = path.join(dir, 'bodies', 'aa', 'a'.repeat(32))
    laterMs = 23 * HOUR_MS
    await other.get(keyOf('a'))
    await until('its use is noted', () => statSync(file).mtimeMs > Date.now())
    await owner.removeUnused()
    assert.equal(owner.bytes, 1)
    utimesSync(file, new Date(), new Date())
    laterMs = 46 * HOUR_MS
    await owner.removeUnused()
    assert.equal(owner.bytes, 0)
    await Promise.all([owner.close(), other.close()])
  })

  it('are not kept for a minute after a write has failed, and half-written ones go at a start', async () => {
    const dir = makeDir()
    writeFileSync(path.join(dir, 'bodies'), 'no directory')
    const disk = openDisk(dir)
    disk.put(keyOf('a'), Buffer.from('a'))
    await disk.found
    rmSync(path.join(dir, 'bodies'))
    await until('the write has failed', async () => {
      disk.put(keyOf('b'), Buffer.from('b'))
      return (await disk.get(keyOf('b'))) === null
    })
    await disk.close()
    assert.equal(disk.bytes, 0)
    mkdirSync(path.join(dir, 'bodies', 'aa'), { recursive: true })
    writeFileSync(path.join(dir, 'bodies', 'aa', `${'a'.repeat(32)}.unfinished`), 'half')
    await openDisk(dir).found
    assert.deepEqual(filesIn(dir), [])
  })
})

/** Answers no deletion of more keys in time. */
class LateStore extends S3Client {
  readonly asked: number[] = []
  most: number

  constructor(most: number) {
    super(store.address)
    this.most = most
  }

  override async deleteAll(objects: readonly string[], withinMs: number): Promise<Set<string>> {
    this.asked.push(objects.length)
    if (objects.length > this.most) throw new StoreUnreachable('late', { isLate: true })
    return super.deleteAll(objects, withinMs)
  }
}

describe('a sweep', () => {
  const condemn = async (count: number, seconds: number) => {
    await pool.query(
      `insert into body_gone select '1/' || to_char(n, 'FM00000'), clock_timestamp() - make_interval(secs => $2)
         from generate_series(1, $1::integer) n`,
      [count, seconds],
    )
  }

  it('deletes what was condemned an hour ago, and nothing younger or reserved', async () => {
    await condemn(1, 3_601)
    await pool.query(
      `insert into body_gone values ('1/b', now() - interval '3590 seconds'), ('1/c', now() + interval '30 seconds')`,
    )
    assert.deepEqual(await sweepBodies(pool, bodies.client!), { deleted: 1, failed: 0 })
    assert.deepEqual(await sweepBodies(pool, bodies.client!, { minAgeSeconds: 0 }), { deleted: 1, failed: 0 })
    assert.deepEqual(await reserved(), ['1/c'])
  })

  it('asks for a thousand keys in one request, and for one more in another', async () => {
    await condemn(1_001, 4_000)
    store.requests.length = 0
    assert.deepEqual(await sweepBodies(pool, bodies.client!), { deleted: 1_001, failed: 0 })
    assert.deepEqual(store.requests.filter((request) => request.startsWith('POST')).length, 2)
  })

  it('reads no more than its batch of a long list', async () => {
    await pool.query(
      `insert into body_gone select '1/' || n, clock_timestamp() - make_interval(secs => 4000 + n % 7) from generate_series(1, 20000) n`,
    )
    await pool.query('analyze body_gone')
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>({
      text: `explain (analyze, timing off, costs off) ${DUE}`,
      values: [3_600, '-infinity', '', 1_000],
    })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(plan, /Index Scan using body_gone_at .*rows=1\d{3}\b/, plan)
  })

  it('leaves condemned what the store does not delete, and tells all as failed if it does not answer', async () => {
    await condemn(3, 4_000)
    store.undeletable.add('1/00002')
    assert.deepEqual(await sweepBodies(pool, bodies.client!), { deleted: 2, failed: 1 })
    assert.deepEqual(await condemned(), ['1/00002'])
    store.mode = { status: 503, code: 'SlowDown' }
    assert.deepEqual(await sweepBodies(pool, bodies.client!), { deleted: 0, failed: 1 })
  })

  it('takes no answer for a success that is no result, or names a key that was not asked for', async () => {
    await condemn(2, 4_000)
    for (const answer of [
      '<?xml version="1.0"?>\n<Error><Code>InternalError</Code></Error>',
      '<html>ok</html>',
      '',
      '<DeleteResult><Error><Key>1%2F00001</Key><Code>AccessDenied</Code></Error></DeleteResult>',
      '<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>',
    ]) {
      store.deletionAnswer = answer
      assert.deepEqual(await sweepBodies(pool, bodies.client!), { deleted: 0, failed: 2 }, answer)
    }
    assert.equal((await condemned()).length, 2)
    store.deletionAnswer =
      '<?xml version="1.0" encoding="UTF-8"?>\n<DeleteResult xmlns="http://s3.example/"/>'
    assert.deepEqual(await sweepBodies(pool, bodies.client!), { deleted: 2, failed: 0 })
  })

  it('asks for half as many keys after a request that is not answered in time, and for more again when it is', async () => {
    await condemn(1_000, 4_000)
    const late = new LateStore(300)
    const size = new DeletionSize()
    assert.deepEqual(await sweepBodies(pool, late, { size }), { deleted: 1_000, failed: 0 })
    assert.deepEqual(late.asked.slice(0, 4), [1_000, 500, 250, 282])
    late.most = 1_000
    for (let sweep = 0; sweep < 20; sweep++) {
      await condemn(size.keys, 4_000)
      await sweepBodies(pool, late, { size })
    }
    assert.equal(late.asked.at(-1), 1_000)
    late.close()
  })

  it('gives up where the store is late with fifty keys, and at once the next time', async () => {
    await condemn(120, 4_000)
    const late = new LateStore(49)
    const size = new DeletionSize()
    for (const asked of [[120, 60, 50], [50]]) {
      assert.deepEqual(await sweepBodies(pool, late, { size }), { deleted: 0, failed: 120 })
      assert.deepEqual(late.asked.splice(0), asked)
    }
    late.close()
  })

  it('knows a request that is not answered in time', async () => {
    store.mode = 'silent'
    const deleting = bodies.client!.deleteAll(['1/a'], 100)
    await assert.rejects(deleting, (error: StoreUnreachable) => error.isLate)
    store.mode = { status: 503, code: 'SlowDown' }
    const refused = bodies.client!.deleteAll(['1/a'], 30_000)
    await assert.rejects(refused, (error: StoreUnreachable) => !error.isLate)
  })

  it('of another store is refused', async () => {
    await condemn(1, 4_000)
    store.objects.set(STORE_OBJECT, Buffer.from('another'))
    await assert.rejects(
      sweepBodies(pool, bodies.client!),
      /leads to another store than the one that holds 0 bodies/,
    )
    assert.equal((await condemned()).length, 1)
  })
})

describe('moving', () => {
  it('brings bodies into the store and back, with new ones following at once', async () => {
    const domain = await queue.domain()
    const inRow = BodyStore.none(pool, silentLog())
    const html = longHtml()
    const job = await queue.running(domain, '/old')
    await queue.completer({ bodies: inRow })(job, { ...RENDERED, html } as never)
    await render(domain, '<p>short</p>', '/short')
    assert.equal(await countInline(pool), 1)
    const rate = { perSecond: 10_000 }
    assert.deepEqual(await moveBodies(pool, bodies, 'store', rate), { moved: 1, left: 0, failed: 0 })
    assert.deepEqual([objects(), await countInline(pool)], [await keys(), 0])
    assert.equal(await read(domain, '/old'), html)

    await setDirection(pool, 'database')
    await render(domain, longHtml(), '/new')
    assert.equal((await keys()).length, 1)
    assert.deepEqual(await moveBodies(pool, bodies, 'database', rate), { moved: 1, left: 0, failed: 0 })
    assert.deepEqual([await keys(), await condemned()], [[], objects()])
    assert.equal(await read(domain, '/old'), html)
    const { warnings } = await checkBodies(pool, store.address)
    assert.match(warnings.join(), /until "prepaint bodies move --to store"/)
  })

  it('holds no more bytes of bodies at once than it may, and a longer body alone; each is read by itself', async (t) => {
    const domain = await queue.domain()
    const inRow = BodyStore.none(pool, silentLog())
    for (let at = 0; at < 12; at++) {
      const job = await queue.running(domain, `/${at}`)
      const html = at === 5 ? longHtml() + longHtml() + longHtml() : longHtml()
      await queue.completer({ bodies: inRow })(job, { ...RENDERED, html } as never)
    }
    const lengths = await column<number>('select octet_length(body_br) from page order by 1')
    const heldBytes = lengths[0]! * 2 + 1_000
    assert(lengths.at(-1)! > heldBytes && lengths.at(-2)! * 2 <= heldBytes, `${lengths}`)
    const read = t.mock.method(pool, 'query')
    let underWay = 0
    const sums: number[] = []
    store.stored = async (object) => {
      const { length } = store.objects.get(object)!
      underWay += length
      sums.push(underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= length
    }
    const moved = await moveBodies(pool, bodies, 'store', { perSecond: 10_000, heldBytes })
    assert.deepEqual(moved, { moved: 12, left: 0, failed: 0 })
    assert(
      sums.every((sum) => sum <= heldBytes || sum === lengths.at(-1)),
      `${sums} of ${heldBytes}`,
    )
    for (const { result } of read.mock.calls) {
      const { rows = [] } = ((await (result as unknown)) ?? {}) as { rows?: Record<string, unknown>[] }
      assert(rows.filter((row) => Buffer.isBuffer(row['body_br'])).length <= 1, 'one body a statement')
    }
    // Back, too: their length is that in the rows.
    await setDirection(pool, 'database')
    const back = await moveBodies(pool, bodies, 'database', { perSecond: 10_000, heldBytes })
    assert.deepEqual(back, { moved: 12, left: 0, failed: 0 })
  })

  it('tells as failed what the store does not take or give', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    store.mode = { status: 500, code: 'InternalError' }
    const rate = { perSecond: 10_000 }
    assert.deepEqual(await moveBodies(pool, openBodies(), 'database', rate), { moved: 0, left: 1, failed: 1 })
  })
})

describe('a body in a row beside an older key, as a node of 0.2.0 leaves it', () => {
  const rate = { perSecond: 10_000 }
  /** A node of 0.2.0 renders the page again. */
  const overwrite = async (domain: DomainId, bytes: number) => {
    await render(domain, longHtml())
    const [key] = await keys()
    await pool.query(`update page set body_br = $1, etag = 'newer' where domain_id = $2`, [
      Buffer.alloc(bytes, 'x'),
      domain,
    ])
    return key!
  }

  it('counts as one in PostgreSQL, and lets a node start without the setting', async () => {
    const key = await overwrite(await queue.domain(), 3_000)
    assert.deepEqual([await countStored(pool), await countInline(pool)], [0, 1])
    assert.deepEqual((await checkBodies(pool, null)).warnings, [])
    assert.deepEqual(await keys(), [key])
  })

  it('stays when the older object is found missing', async () => {
    const domain = await queue.domain()
    const key = await overwrite(domain, 3_000)
    assert.equal(await deletePageWithBody(pool, page(domain), key), false)
    assert.deepEqual(await queue.stored(domain), ['/'])
  })

  it('loses the older key in a move to the database', async () => {
    const key = await overwrite(await queue.domain(), 3_000)
    assert.deepEqual(await moveBodies(pool, bodies, 'database', rate), { moved: 0, left: 0, failed: 0 })
    assert.deepEqual([await keys(), await condemned()], [[], [key]])
    assert.equal(await countInline(pool), 1)
  })

  it('gets a new key in a move to the store, or none if it is short', async () => {
    const domains = [await queue.domain(), await queue.domain()]
    const olds = [await overwrite(domains[0]!, 3_000)]
    await pool.query(`delete from body_gone`)
    await render(domains[1]!, longHtml())
    const [, second] = (await keys()).sort()
    await pool.query(`update page set body_br = 'short', etag = 'newer' where domain_id = $1`, [domains[1]])
    olds.push(second!)
    assert.deepEqual(await moveBodies(pool, bodies, 'store', rate), { moved: 1, left: 0, failed: 0 })
    assert.deepEqual(await condemned(), olds.sort())
    assert.equal((await keys()).length, 1)
    assert.equal(await countStored(pool), 1)
  })
})

describe('a check of a sample', () => {
  it('tells how many bodies are whole, missing, damaged or unread, and changes nothing', async () => {
    const domain = await queue.domain()
    for (const path of ['/a', '/b', '/c']) await render(domain, longHtml(), path)
    const [gone, damaged] = await keys()
    store.objects.delete(gone!)
    store.objects.set(damaged!, Buffer.from('damaged'))
    assert.deepEqual(await checkSample(pool, bodies, 10), { read: 1, missing: 1, damaged: 1, failed: 0 })
    assert.equal((await keys()).length, 3)
    store.mode = 'silent'
    assert.deepEqual(await checkSample(pool, openBodies(), 2), { read: 0, missing: 0, damaged: 0, failed: 2 })
  })
})

describe('a store at the first start', () => {
  beforeEach(async () => {
    await pool.query('truncate body_store')
    store.objects.clear()
  })
  const upkeep = () => new BodyUpkeep(pool, openBodies())
  const move = (kind: BodyUpkeep) =>
    kind.run(
      { kind: 'bodies', key: 'move', accountId: 0, payload: null, failures: 0, lease: '' },
      new AbortController().signal,
    )

  it('that does not answer is admitted when it does, and gets the bodies that were rendered meanwhile', async () => {
    store.mode = 'silent'
    await checkBodies(pool, store.address)
    const domain = await queue.domain()
    bodies = openBodies()
    await render(domain, longHtml())
    assert.deepEqual([await keys(), (await readBodyFigures(pool)).late], [[], 1])
    const kind = upkeep()
    assert.notEqual(await move(kind), null)
    assert.deepEqual(await keys(), [])
    store.mode = 'works'
    await move(kind)
    assert.deepEqual([await keys(), (await readBodyFigures(pool)).late], [objects(), 0])
    await render(domain, longHtml(), '/next')
    assert.equal((await keys()).length, 2)
  })

  it('has one id, which PostgreSQL has too, when several nodes start at once', async () => {
    const clients = Array.from({ length: 4 }, () => openBodies().client!)
    let written = 0
    // The others come while the first one writes.
    store.stored = async () => {
      written++
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await Promise.all(clients.map((client) => admitStore(pool, client)))
    assert.deepEqual(await column('select id from body_store'), [String(store.objects.get(STORE_OBJECT))])
    assert.equal(written, 1)
  })
})

describe('a start is refused', () => {
  const host = () => `127.0.0.1:${store.port}`
  const refusal = async (address = store.address) => {
    try {
      return (await checkBodies(pool, address)).warnings.join()
    } catch (error) {
      return (error as Error).message
    }
  }

  it('if the store refuses the key, with its code', async () => {
    store.mode = { status: 403, code: 'SignatureDoesNotMatch' }
    assert.equal(
      await refusal(),
      `PREPAINT_BODIES: ${host()} refuses the key (403 SignatureDoesNotMatch): check key, secret and clock.`,
    )
  })

  it('if there is no such bucket', async () => {
    store.mode = { status: 404, code: 'NoSuchBucket' }
    assert.equal(await refusal(), `PREPAINT_BODIES: ${host()} has no bucket "bodies".`)
  })

  it('if bodies are in another store, and not if none are', async () => {
    store.objects.set(STORE_OBJECT, Buffer.from('another'))
    assert.equal(await refusal(), '')
    const domain = await queue.domain()
    bodies = openBodies()
    await render(domain, longHtml())
    store.objects.delete(STORE_OBJECT)
    assert.equal(
      await refusal(),
      'PREPAINT_BODIES leads to another store than the one that holds 1 bodies: set it back, or move the bodies first (prepaint bodies move).',
    )
  })

  it('without the setting if bodies are in a store, and warned of while objects wait to be deleted', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    await assert.rejects(checkBodies(pool, null), {
      message:
        '1 bodies are in an object store: set PREPAINT_BODIES, or move them with "prepaint bodies move --to database".',
    })
    await queue.purge(domain, { kind: 'all' })
    const { warnings } = await checkBodies(pool, null)
    assert.match(warnings.join(), /^1 objects in the object store wait to be deleted/)
  })

  it('but not for a store that does not answer, which is a warning', async () => {
    store.mode = 'silent'
    assert.match(
      await refusal(),
      /^PREPAINT_BODIES: .* does not answer \(no answer in \d+ ms\): bodies go into PostgreSQL/,
    )
  })
})

describe('a restored backup', () => {
  const settle = (id: string | null, takesOver = false) => settleRestoredBodies(pool, id, { takesOver })
  const storeId = () => String(store.objects.get(STORE_OBJECT))

  it('keeps keys of the same store as foreign ones, which are read and never condemned', async () => {
    const domain = await queue.domain()
    const html = longHtml()
    await render(domain, html)
    await pool.query(`insert into body_gone values ('1/a', now())`)
    assert.deepEqual(await settle(storeId()), { kept: 1, foreign: 1, dropped: 0 })
    assert.deepEqual(await condemned(), [])
    assert.equal(await read(domain), html)
    await render(domain, longHtml())
    assert.deepEqual(await condemned(), [], 'the other database has the replaced one')
    const [own] = await keys()
    await queue.purge(domain, { kind: 'all' })
    assert.deepEqual(await condemned(), [own])
  })

  it('owns the keys after a take-over, and those that were condemned', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml())
    const [key] = await keys()
    await pool.query(`insert into body_gone values ('1/a', now())`)
    await settle(storeId(), true)
    await queue.purge(domain, { kind: 'all' })
    assert.deepEqual(await condemned(), ['1/a', key].sort())
  })

  it('leaves foreign after a take-over what was foreign in the database that is gone', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml(), '/foreign')
    await settle(storeId())
    await render(domain, longHtml(), '/own')
    const own = (await keys()).filter((key) => key !== null)
    assert.deepEqual(await settle(storeId(), true), { kept: 2, foreign: 1, dropped: 0 })
    const [foreign] = await column<string>(`select body_key from page where path = '/foreign'`)
    await queue.purge(domain, { kind: 'all' })
    assert.deepEqual(
      await condemned(),
      own.filter((key) => key !== foreign),
    )
  })

  it('has foreign keys until they are adopted; from then on they are condemned as own ones', async () => {
    const [one, two] = [await queue.domain(), await queue.domain()]
    for (const domain of [one, two]) await render(domain, longHtml())
    await settle(storeId())
    assert.equal(await countForeign(pool), 2)
    assert.equal(await adoptBodies(pool), 2)
    assert.deepEqual([await countForeign(pool), await adoptBodies(pool)], [0, 0])
    const all = await keys()
    await queue.purge(one, { kind: 'all' })
    await queue.purge(two, { kind: 'all' })
    assert.deepEqual(await condemned(), all)
  })

  it('drops the pages of another store, whose paths stay known', async () => {
    const domain = await queue.domain()
    await render(domain, longHtml(), '/stored')
    await render(domain, '<p>short</p>', '/short')
    await pool.query('alter table page disable trigger user')
    assert.deepEqual(await settle(null), { kept: 0, foreign: 0, dropped: 1 })
    await pool.query('alter table page enable trigger user')
    assert.deepEqual(await queue.stored(domain), ['/short'])
    assert.deepEqual(await column('select path from known_path where domain_id = $1', domain), ['/stored'])
  })
})

describe('the setting', () => {
  const parse = (raw: string) => {
    const parsed = parseStoreAddress(raw)
    return 'address' in parsed ? shownAddress(parsed.address) : parsed.problem.replace(/^.*?: /, '')
  }
  const cases: Record<string, [raw: string, shown: string]> = {
    'with a port, a prefix and a region': [
      's3+https://KEY:a%2Fb@s3.example:9000/bucket/pre/fix?region=eu-west-1',
      's3+https://KEY:***@s3.example:9000/bucket',
    ],
    'of virtual-hosted style': [
      's3+https://KEY:secret@s3.example/bucket?style=virtual',
      's3+https://KEY:***@s3.example/bucket',
    ],
    'unencrypted to a private address': [
      's3+http://K:s@[fd00::1]:80/bucket',
      's3+http://K:***@[fd00::1]:80/bucket',
    ],
    'unencrypted to a public address': [
      's3+http://K:s@93.184.216.34/bucket',
      's3+http is allowed for loopback and private addresses only; use s3+https',
    ],
    'unencrypted to a name': [
      's3+http://K:s@s3.example/bucket',
      's3+http is allowed for loopback and private addresses only; use s3+https',
    ],
    'of another scheme': [
      'https://K:s@s3.example/bucket',
      'it begins with s3+https://, or s3+http:// on a private address',
    ],
    'without a key': ['s3+https://s3.example/bucket', 'the key is missing or not percent-encoded'],
    'without a secret': ['s3+https://K@s3.example/bucket', 'the secret is missing or not percent-encoded'],
    'without a bucket': ['s3+https://K:s@s3.example/', 'the bucket is missing'],
    'with a bad prefix': [
      's3+https://K:s@s3.example/bucket/x%20y',
      'the prefix has letters, digits, ".", "_", "-" and "/" only',
    ],
    'with an unknown parameter': [
      's3+https://K:s@s3.example/bucket?zone=a',
      'it takes the parameters region and style only',
    ],
    'with an unknown style': [
      's3+https://K:s@s3.example/bucket?style=path-ish',
      'the style is virtual or path',
    ],
  }
  for (const [name, [raw, shown]] of Object.entries(cases))
    it(`${name}`, () => assert.equal(parse(raw), shown))

  it('is never repeated in a problem', () => {
    for (const raw of [
      's3+https://K:hush@',
      's3+https://K:hu/sh@h/b',
      's3+https://K:hush@h/b?x=1',
      's3+ftp://K:hush@h/b',
    ]) {
      const parsed = parseStoreAddress(raw)
      assert('problem' in parsed && !/hush|hu\/sh/.test(parsed.problem), raw)
    }
  })
})
