/**
 * Bodies of pages in a real object store: two nodes on Ceph's S3 gateway, and the same three requests on OpenStack Swift. CI
 * purges 150 pages under load; `PREPAINT_TEST_PURGES=10000` is the drill that the documents speak of.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { S3Client, StoreRefused } from '@prepaint/pages/store/bodies/s3-client.ts'
import { parseStoreAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import pg from 'pg'
import { runJson, runPrepaint } from '../support/command-line.ts'
import { until as untilWithin } from '../support/condition.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import { startFleet } from '../support/fleet.ts'
import { serve } from '../support/loopback.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../support/tenant.ts'
import { CephStore, hasCeph, hasSwift, SwiftStore } from './object-stores.ts'

const PURGES = Number(process.env['PREPAINT_TEST_PURGES'] ?? 150)
const HOST = 'bodies.example'
const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 150_000)

/** Words that tell a page's version. */
function textOf(where: string, version: number): string {
  return `version ${version} of ${where}`
}

/** As much as pages usually are: twenty kilobytes when compressed, of which two thousand characters are text, or those of an article. */
function htmlOf(where: string, version: number): string {
  const random = (at: number) => createHash('sha256').update(`${where} ${version} ${at}`).digest('hex')
  const items = Array.from({ length: 200 }, (_, at) => {
    const ids = [0, 1, 2].map((part) => random(3 * at + part)).join(' ')
    return `<li data-ids="${ids}" class="i${at % 7}">Item ${at}</li>`
  })
  const words = where.startsWith('/article') ? Array.from({ length: 300 }, (_, at) => random(at)) : []
  const article = `<p>${words.join(' ').replace(/(.{7})/g, '$1 ')}</p>`
  return `<!doctype html><html lang="en"><title>${where}</title><main><p>${textOf(where, version)}</p>${article}<ul>${items.join('')}</ul></main></html>`
}

/** A site whose pages have a version each, which a test raises. */
async function startSite() {
  const versions = new Map<string, number>()
  const versionOf = (where: string) => versions.get(where) ?? 1
  const site = await serve((req, res) => {
    const where = req.url ?? '/'
    if (where === '/robots.txt') return void res.writeHead(404).end()
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    res.end(htmlOf(where, versionOf(where)))
  })
  return { ...site, versionOf, raise: (where: string) => void versions.set(where, versionOf(where) + 1) }
}

const isCephInstalled = hasCeph()
if (!isCephInstalled) {
  process.stderr.write('No test of bodies in Ceph: apt-get install ceph-mon ceph-osd ceph-mgr radosgw\n')
}

if (isCephInstalled) {
  describe('two nodes with their bodies in Ceph', () => {
    let ceph: CephStore
    let bucket: Awaited<ReturnType<CephStore['makeBucket']>>
    let site: Awaited<ReturnType<typeof startSite>>
    let fleet: Awaited<ReturnType<typeof startFleet>>
    let key: string
    const node = (at: number): NodeProcess => fleet.members[at]!.process
    const settings = () => ({ ...node(0).settings, PREPAINT_BODIES: bucket.setting })

    before(async () => {
      ceph = await CephStore.start()
      bucket = await ceph.makeBucket('bodies')
      site = await startSite()
      const bodies = { PREPAINT_BODIES: bucket.setting }
      // The second one has a disk.
      fleet = await startFleet([
        { settings: bodies },
        { settings: { ...bodies, PREPAINT_EDGE_DISK_BYTES: '50000000' } },
      ])
      key = (await openAccount(node(0), { email: 'bodies@example.com', plan: 'enterprise' })).key
      await registerDomain(node(0), key, { customDomain: HOST, originUrl: site.url })
    })
    after(async () => {
      assert.deepEqual(await fleet.close(), [])
      await site.close()
      await ceph.close()
    })

    const get = (at: number, where: string) =>
      edgeRequest(node(at).edge, { host: HOST, path: where, userAgent: GOOGLEBOT })
    const isStored = (at: number, where: string) =>
      until(`${where} is stored`, async () => (await get(at, where)).verdict === 'hit')
    const storeAll = (wheres: readonly string[]) => Promise.all(wheres.map((where) => isStored(0, where)))
    const paths = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, at) => `/${prefix}-${at}`)
    const keysOfRows = async () => {
      const { rows } = await fleet.pool.query<{ body_key: string }>(
        `select body_key from page where body_key is not null
         union all select body_key from page_form where body_key is not null order by 1`,
      )
      return rows.map(({ body_key }) => body_key)
    }
    const metric = async (at: number, name: string) => {
      const text = await (await fetch(`${node(at).api}/metrics`)).text()
      return text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1)
    }
    /** Nodes drop the pages of all domains from memory. */
    const forgetPages = async () => {
      await fleet.pool.query(
        `select pg_notify('invalidate', json_build_object('domain', id)::text) from domain`,
      )
      for (const at of [0, 1]) {
        await until(
          'memory is empty',
          async () => (await metric(at, 'prepaint_edge_pages_in_memory')) === '0',
        )
      }
    }
    const prepaint = (...args: string[]) => runJson(args, settings())
    /** Reservations and condemned keys become so old that a sweep takes them. */
    const age = () => fleet.pool.query(`update body_gone set at = at - interval '2 hours'`)

    it('a start with a wrong secret, without the bucket or without the setting ends with the reason', async () => {
      const dir = makeDataDir()
      const start = async (setting: string) => {
        const edge = {
          ...node(0).settings,
          PREPAINT_DATA_DIR: dir,
          PREPAINT_ROLES: 'edge',
          PREPAINT_BODIES: setting,
        }
        const { code, stderr } = await runPrepaint(['serve'], edge)
        assert.equal(code, 1, stderr)
        return stderr
      }
      const host = `127.0.0.1:${ceph.port}`
      assert.match(
        await start(bucket.setting.replace(/:[^:@]+@/, ':wrong-secret@')),
        new RegExp(
          `PREPAINT_BODIES: ${host} refuses the key \\(403 SignatureDoesNotMatch\\): check key, secret and clock\\.`,
        ),
      )
      assert.match(
        await start(bucket.setting.replace('/bodies/', '/nothing/')),
        new RegExp(`PREPAINT_BODIES: ${host} has no bucket "nothing"\\.`),
      )
      await isStored(0, '/first')
      assert.match(
        await start(''),
        /1 bodies are in an object store: set PREPAINT_BODIES, or move them with "prepaint bodies move --to database"\./,
      )
      await clearDataDir(dir)
    })

    it('a page that one node has rendered is a hit at the other, with the same bytes, and its object is the only copy', async () => {
      const wheres = paths('page', 10)
      await storeAll(wheres)
      for (const where of wheres) {
        const [own, other] = [await get(0, where), await get(1, where)]
        assert.equal(other.verdict, 'hit')
        assert(own.body.equals(other.body) && String(own.body).includes(textOf(where, 1)))
      }
      const { rows } = await fleet.pool.query(
        'select count(*)::int as count from page where body_br is not null',
      )
      assert.equal(rows[0].count, 0)
      assert.deepEqual(await bucket.objects(), await keysOfRows())
      const { json } = await prepaint('bodies', 'check', '--sample', '5')
      assert.deepEqual(json, { read: 5, missing: 0, damaged: 0, failed: 0 })
    })

    it('a changed page writes at most 4 KB of WAL more than one that is rendered again unchanged', async () => {
      const wheres = [...paths('article', 15), ...paths('short', 15)]
      await storeAll(wheres)
      const ours = `path = any ($1)`
      // The image of a whole page of a table after a checkpoint says nothing about rows.
      await fleet.pool.query('alter system set full_page_writes = off')
      await fleet.pool.query('select pg_reload_conf()')
      await until('no page is written whole', async () => {
        const { rows } = await fleet.pool.query('show full_page_writes')
        return rows[0].full_page_writes === 'off'
      })
      const walOf = async (prepare: () => void) => {
        prepare()
        const { rows: begun } = await fleet.pool.query(
          'select pg_current_wal_insert_lsn() as lsn, clock_timestamp() as at',
        )
        await fleet.pool.query(`update page set stale_since = now() where ${ours}`, [wheres])
        await forgetPages()
        await until('all are rendered again', async () => {
          const { rows } = await fleet.pool.query<{ path: string }>(
            `select path from page where ${ours} and rendered_at <= $2`,
            [wheres, begun[0].at],
          )
          await Promise.all(rows.map(({ path: where }) => get(0, where)))
          return rows.length === 0
        })
        const { rows: ended } = await fleet.pool.query(
          'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as bytes',
          [begun[0].lsn],
        )
        return ended[0].bytes / wheres.length
      }
      // What nodes and PostgreSQL write for themselves comes on top: the least of three rounds has least of it.
      const least = async (prepare: () => void) =>
        Math.min(await walOf(prepare), await walOf(prepare), await walOf(prepare))
      const unchanged = await least(() => {})
      const changed = await least(() => {
        for (const where of wheres) site.raise(where)
      })
      assert(changed - unchanged <= 4_096, `${changed} instead of ${unchanged} bytes a page`)
      assert.equal(String((await get(1, wheres[0]!)).body).includes(textOf(wheres[0]!, 4)), true)
    })

    it('while the store is dead, memory and disk serve, others pass, and renders are kept; afterwards their bodies are moved', async () => {
      const [onDisk, inMemory] = ['/page-0', '/page-1'] as const
      assert.equal((await get(1, onDisk)).verdict, 'hit')
      await until('it is on disk', async () => Number(await metric(1, 'prepaint_edge_disk_bytes')) > 0)
      await forgetPages()
      assert.equal((await get(0, inMemory)).verdict, 'hit')
      await ceph.killGateway()
      assert.equal((await get(0, inMemory)).verdict, 'hit')
      assert.equal((await get(1, onDisk)).verdict, 'hit')
      assert(Number(await metric(1, 'prepaint_body_reads_total{from="disk"}')) > 0)
      const passed = await get(0, onDisk)
      assert.deepEqual([passed.verdict, passed.status], ['pass; store', 200])
      const made = paths('made', 5)
      for (const where of made) {
        await until('it is rendered', async () => ['rendered', 'hit'].includes((await get(0, where)).verdict))
        assert.equal((await get(0, where)).verdict, 'hit')
      }
      const { json: status } = await prepaint('bodies', 'status')
      assert.equal(status['inline'], made.length)
      const { code, json: swept } = await prepaint('bodies', 'sweep', '--min-age', '0')
      assert.deepEqual([code, swept['deleted']], [1, 0])

      await ceph.startGateway()
      await until(
        'the bodies are moved',
        async () => (await prepaint('bodies', 'status')).json['inline'] === 0,
      )
      await until('it is a hit again', async () => (await get(0, onDisk)).verdict === 'hit')
      for (const where of made) assert.equal((await get(1, where)).verdict, 'hit')
    })

    it('a body that is missing or damaged is rendered again', async () => {
      const objects = new Map(
        (
          await fleet.pool.query(
            `select path, body_key from page where path in ('/page-8', '/page-9') order by 1`,
          )
        ).rows.map(({ path: where, body_key }) => [where as string, body_key as string]),
      )
      await bucket.delete(objects.get('/page-8')!)
      await bucket.overwrite(objects.get('/page-9')!, 'damaged')
      await forgetPages()
      // The first one has no disk.
      for (const [where, lost] of objects) {
        await until('it is rendered', async () => (await get(0, where)).verdict === 'hit')
        assert(String((await get(0, where)).body).includes(textOf(where, 1)))
        const { rows } = await fleet.pool.query('select body_key from page where path = $1', [where])
        assert.notEqual(rows[0].body_key, lost)
      }
      const lost = Number(await metric(0, 'prepaint_body_missing_total'))
      assert.equal(lost, 2)
    })

    it('no purged page is served a second after its purge, under load', async () => {
      const wheres = paths('purged', Math.min(PURGES, 60))
      await storeAll(wheres)
      const purgedAt = new Map<string, { version: number; ms: number }>()
      const wrong: string[] = []
      let isOver = false
      const client = async (at: number) => {
        for (let turn = at; !isOver; turn += 7) {
          const where = wheres[turn % wheres.length]!
          const asked = performance.now()
          const purged = purgedAt.get(where)
          const { verdict, body } = await get(turn % 2, where)
          const version = Number(/version (\d+) of/.exec(String(body))?.[1])
          const isOld = purged !== undefined && asked - purged.ms > 1_000 && version < purged.version
          if (isOld && !verdict.startsWith('pass')) wrong.push(`${where}: ${verdict}, version ${version}`)
        }
      }
      const clients = [0, 1, 2, 3].map(client)
      for (let purge = 0; purge < PURGES; purge++) {
        const where = wheres[purge % wheres.length]!
        site.raise(where)
        const { status } = await callApi(node(purge % 2), key, {
          method: 'POST',
          path: '/api/cache/purge',
          body: { domain: HOST, path: where },
        })
        assert.equal(status, 200)
        purgedAt.set(where, { version: site.versionOf(where), ms: performance.now() })
      }
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      isOver = true
      await Promise.all(clients)
      assert.deepEqual(wrong, [])
    })

    it('after a node was killed while it rendered, a sweep leaves exactly the objects that rows have', async () => {
      const wheres = paths('killed', 20)
      await storeAll(wheres)
      for (const where of wheres) site.raise(where)
      await fleet.pool.query(`update page set stale_since = now() where path like '/killed-%'`)
      await fleet.pool.query(
        `select pg_notify('invalidate', json_build_object('domain', id)::text) from domain`,
      )
      await Promise.all(wheres.map((where) => get(1, where)))
      await until('some are rendered again', async () => {
        const { rows } = await fleet.pool.query(
          `select count(*)::int as count from page where path like '/killed-%' and stale_since is null`,
        )
        return rows[0].count >= 3
      })
      await node(1).kill()
      await fleet.members[1]!.start()
      await until('the others follow', async () => {
        await Promise.all(wheres.map((where) => get(0, where)))
        const { rows } = await fleet.pool.query(
          `select count(*)::int as count from page where path like '/killed-%' and stale_since is null`,
        )
        return rows[0].count === wheres.length
      })
      await until('nothing renders', async () => {
        const { rows } = await fleet.pool.query(
          `select count(*)::int as count from job where state in ('queued', 'running')`,
        )
        return rows[0].count === 0
      })
      await age()
      const { code, json } = await prepaint('bodies', 'sweep')
      assert.deepEqual([code, json['failed']], [0, 0])
      assert.deepEqual(await bucket.objects(), await keysOfRows())
    })

    it('a restored backup reads the same bodies, and its purges delete none of them', async () => {
      const dir = makeDataDir()
      const file = path.join(dir, 'all.backup')
      const { json: made } = await prepaint('backup', file)
      assert.equal(made['bodies_left_out'], (await keysOfRows()).length)
      await fleet.pool.query('create database copy template template0')
      const url = new URL(fleet.server.url)
      url.pathname = '/copy'
      const restoring = { PREPAINT_DATA_DIR: dir, DATABASE_URL: url.href, PREPAINT_BODIES: bucket.setting }
      const { json: restored } = await runJson(['restore', file], restoring)
      assert.equal(restored['bodies_kept'], made['bodies_left_out'])
      const { json: checked } = await runJson(['bodies', 'check', '--sample', '3'], restoring)
      assert.deepEqual(checked, { read: 3, missing: 0, damaged: 0, failed: 0 })
      const { code } = await runJson(['cache', 'purge', '--domain', HOST], restoring)
      assert.equal(code, 0)
      const copy = new pg.Pool({ ...fleet.server.connection, database: 'copy', max: 1 })
      assert.equal((await copy.query('select from page')).rowCount, 0)
      assert.equal((await copy.query('select from body_gone')).rowCount, 0)
      await copy.end()
      await fleet.pool.query('drop database copy')
      await clearDataDir(dir)
    })

    it('all bodies move into PostgreSQL and back while nodes serve, and no object is left in between', async () => {
      const count = (await keysOfRows()).length
      await age()
      const { code, json } = await prepaint('bodies', 'move', '--to', 'database', '--rate', '1000')
      assert.deepEqual([code, json], [0, { moved: count, left: 0, failed: 0 }])
      assert.deepEqual([await keysOfRows(), await bucket.objects()], [[], []])
      await isStored(0, '/while-in-database')
      assert.deepEqual(await bucket.objects(), [])
      const { json: back } = await prepaint('bodies', 'move', '--to', 'store', '--rate', '1000')
      assert.deepEqual(back, { moved: count + 1, left: 0, failed: 0 })
      assert.deepEqual(await bucket.objects(), await keysOfRows())
      assert.equal((await get(1, '/page-3')).verdict, 'hit')
    })

    it('metrics tell of the store, and nothing shows the secret', async () => {
      const metrics = await (await fetch(`${node(0).api}/metrics`)).text()
      for (const name of [
        'prepaint_body_store_seconds_count{op="put"}',
        'prepaint_body_store_failures_total{op="put"}',
        'prepaint_body_reads_total{from="memory"}',
        'prepaint_bodies_inline',
        'prepaint_bodies_condemned',
        'prepaint_body_missing_total',
      ]) {
        assert(metrics.includes(`\n${name} `), name)
      }
      const { json } = await prepaint('bodies', 'status')
      assert.equal(json['store'], `s3+http://prepaint:***@127.0.0.1:${ceph.port}/bodies`)
      const secret = /prepaint:([^@]+)@/.exec(bucket.setting)![1]!
      for (const text of [metrics, node(0).log(), node(1).log(), JSON.stringify(json)])
        assert(!text.includes(secret))
    })
  })
}

const isSwiftInstalled = hasSwift()
if (!isSwiftInstalled) {
  process.stderr.write(
    'No test of bodies in Swift: apt-get install swift-proxy swift-account swift-container swift-object\n',
  )
}

if (isSwiftInstalled) {
  describe('the requests that we use, at Swift', () => {
    let swift: SwiftStore
    let bucket: Awaited<ReturnType<SwiftStore['makeBucket']>>
    before(async () => {
      swift = await SwiftStore.start()
      bucket = await swift.makeBucket('bodies')
    })
    after(() => swift.close())

    const WITHIN_MS = 10_000
    const open = (change: { secret?: string; bucket?: string } = {}) => {
      const parsed = parseStoreAddress(bucket.setting)
      assert('address' in parsed)
      return new S3Client({ ...parsed.address, ...change })
    }
    const body = randomBytes(20_000)
    const sum = createHash('sha256').update(body).digest('hex')

    it('an object is put, read whole and deleted with others that are not there', async () => {
      const client = open()
      await client.put('1/a', body, sum, WITHIN_MS)
      await client.put('1/b', body, sum, WITHIN_MS)
      assert.deepEqual(await client.get('1/a', 100_000, WITHIN_MS), body)
      assert.equal(await client.get('1/none', 100_000, WITHIN_MS), null)
      assert.deepEqual(await client.deleteAll(['1/a', '1/none'], WITHIN_MS), new Set())
      assert.deepEqual(await bucket.objects(), ['1/b'])
      client.close()
    })

    it('a wrong secret is refused with 403, a missing bucket with 404 and a code of its own', async () => {
      const refusals: string[] = []
      for (const client of [open({ secret: 'wrong' }), open({ bucket: 'nothing' })]) {
        await client.put('1/c', body, sum, WITHIN_MS).catch((error: unknown) => {
          assert(error instanceof StoreRefused)
          refusals.push(error.message)
        })
        client.close()
      }
      assert.deepEqual(refusals, ['status 403 SignatureDoesNotMatch', 'status 404 NoSuchBucket'])
    })
  })
}
