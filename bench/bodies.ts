/**
 * What bodies in an object store cost: `node bench/bodies.ts [--pages N] [--purges N]`. Starts Ceph's gateway (apt-get install
 * ceph-mon ceph-osd ceph-mgr radosgw) and a PostgreSQL. Prints the time and the WAL of storing a page with and without the store, by
 * the length of its text, and the time and processor time of reading one from PostgreSQL, the store and the disk. With `--purges`, also
 * purges so many pages beside renders, sweeps, and compares the bucket with the rows. Last figures: bench/RESULTS.md.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { checkBodies } from '@prepaint/pages/store/bodies/check.ts'
import { DiskTier } from '@prepaint/pages/store/bodies/disk-tier.ts'
import { checkSample } from '@prepaint/pages/store/bodies/sample.ts'
import { parseStoreAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import { sweepBodies } from '@prepaint/pages/store/bodies/sweep.ts'
import { keepDigests, PACKED_BESIDE_STORE } from '@prepaint/pages/store/page-digests.ts'
import { packText, readStored } from '@prepaint/pages/store/stored-page.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { CephStore } from '../test/fleet/object-stores.ts'
import { until } from '../test/support/condition.ts'
import { RENDERED, testQueue } from '../test/support/queue.ts'

const { values } = parseArgs({
  options: { pages: { type: 'string', default: '200' }, purges: { type: 'string', default: '0' } },
})
const PAGES = Number(values.pages)
const PURGES = Number(values.purges)
/** As the pages of docs/operations.md: 22.8 KB compressed. */
const BODY_BYTES = 22_800
const TEXTS_CHARS = [2_000, 8_000, 20_000]

const queue = await testQueue()
const { pool } = queue
// A page that is written whole after a checkpoint says nothing about the row.
await pool.query('alter system set full_page_writes = off')
await pool.query('select pg_reload_conf()')
const ceph = await CephStore.start()
const bucket = await ceph.makeBucket('bench')
const parsed = parseStoreAddress(bucket.setting)
if (!('address' in parsed)) throw new Error(parsed.problem)
await checkBodies(pool, parsed.address)

const PROSE = ['operations', 'rendering', 'edge', 'configuration', 'interface']
  .map((name) => readFileSync(path.join(import.meta.dirname, `../docs/${name}.md`), 'utf8'))
  .join('\n')
  .replace(/[<>&]/g, '')
  .split(/\n+/)
  .filter((line) => line.length > 20)

const hexOf = (seed: string) => createHash('sha256').update(seed).digest('hex')

/** English text, and markup as large as makes the body of a usual page. */
async function htmlOf(where: string, version: number, textChars: number): Promise<string> {
  const lines: string[] = []
  const first = Number.parseInt(hexOf(`${where} ${version}`).slice(0, 8), 16)
  for (let at = 0, chars = 0; chars < textChars; at++) {
    const line = PROSE[(first + at) % PROSE.length]!
    lines.push(`<p>${line}</p>`)
    chars += line.length
  }
  const text = lines.join('')
  const markupBytes = Math.max(0, BODY_BYTES - (await packText(Buffer.from(text))).length)
  // Two digits are one byte of brotli.
  const ids = Array.from({ length: Math.ceil(markupBytes / 32) }, (_, at) =>
    hexOf(`${where} ${version} ${at}`),
  )
  const markup = ids.map((id) => `<i data-id="${id}"></i>`).join('')
  return `<!doctype html><html lang="en"><title>${where}</title><body>${text}${markup}</body></html>`
}

const middle = (numbers: readonly number[]) =>
  numbers.toSorted((one, other) => one - other)[numbers.length >> 1]!
const walAt = async () =>
  (await pool.query<{ at: string }>('select pg_current_wal_insert_lsn() as at')).rows[0]!.at
const walSince = async (at: string) =>
  (
    await pool.query<{ bytes: number }>(
      'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as bytes',
      [at],
    )
  ).rows[0]!.bytes

type Stored = { domain: DomainId; bodies: BodyStore; version: number; textChars: number }

/** Renders pages for waiting crawlers, one after the other. Returns the bytes of WAL of each. */
async function store(name: string, { domain, bodies, version, textChars }: Stored): Promise<number> {
  const complete = queue.completer({ bodies })
  const times: number[] = []
  let walBytes = 0
  for (let at = 0; at < PAGES; at++) {
    const where = `/p${at}` as PagePath
    const html = await htmlOf(where, version, textChars)
    const job = await queue.running(domain, where)
    const begun = await walAt()
    const startedMs = performance.now()
    await complete(job, { ...RENDERED, html } as never)
    times.push(performance.now() - startedMs)
    await keepDigests(
      pool,
      [{ page: job.page, customDomain: 'd1.example' as DomainName, html }],
      bodies.isOn ? PACKED_BESIDE_STORE : undefined,
    )
    walBytes += await walSince(begun)
  }
  const perPage = walBytes / PAGES
  console.log(
    `  ${name}: ${middle(times).toFixed(1)} ms at the median, ${Math.round(perPage)} bytes of WAL a page`,
  )
  return perPage
}

async function read(name: string, bodies: BodyStore, domain: DomainId): Promise<void> {
  const times: number[] = []
  const before = process.cpuUsage()
  for (let at = 0; at < PAGES * 5; at++) {
    const startedMs = performance.now()
    await readStored(pool, pageId(domain, `/p${at % PAGES}` as PagePath), bodies)
    times.push(performance.now() - startedMs)
  }
  const { user, system } = process.cpuUsage(before)
  console.log(
    `read from ${name}: ${middle(times).toFixed(2)} ms at the median, ${Math.round((user + system) / times.length)} µs of this process's processor time`,
  )
}

const inRows = BodyStore.none(pool, silentLog())
const inStore = new BodyStore(parsed.address, pool, silentLog())
const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bench-'))
const disk = new DiskTier(dir, 2 ** 30, { at: 0, of: 1 }, systemClock, silentLog())
const onDisk = new BodyStore(parsed.address, pool, silentLog(), { disk })

const domains: Record<'rows' | 'store', DomainId> = {
  rows: await queue.domain(),
  store: await queue.domain(),
}
for (const [place, bodies] of [
  ['rows', inRows],
  ['store', inStore],
] as const) {
  for (const textChars of TEXTS_CHARS) {
    console.log(`bodies in ${place === 'rows' ? 'rows' : 'the store'}, ${textChars} characters of text`)
    const domain = await queue.domain()
    domains[place] = domain
    await store('first render', { domain, bodies, version: 1, textChars })
    const same = await store('unchanged', { domain, bodies, version: 1, textChars })
    const changed = await store('changed', { domain, bodies, version: 2, textChars })
    console.log(`  a change takes ${Math.round(changed - same)} bytes of WAL more`)
  }
}
await read('rows', inRows, domains.rows)
await read('the store', inStore, domains.store)
for (let at = 0; at < PAGES; at++)
  await readStored(pool, pageId(domains.store, `/p${at}` as PagePath), onDisk)
await until('all are on disk', () => disk.bytes > PAGES * (BODY_BYTES / 2))
await read('the disk', onDisk, domains.store)
if (PURGES > 0) await drill()

await Promise.all([inStore.close(), onDisk.close()])
rmSync(dir, { recursive: true })
await ceph.close()
await queue.close()

/** Purges pages while others are rendered: in the end the bucket has the bodies of the rows, and nothing else. */
async function drill(): Promise<void> {
  const domain = await queue.domain()
  const complete = queue.completer({ bodies: inStore })
  const step = Math.min(PURGES, 1_000)
  const purged = Array.from({ length: step }, (_, at) => `/purged${at}` as PagePath)
  const kept = Array.from({ length: step }, (_, at) => `/kept${at}` as PagePath)
  let version = 0
  let renders = 0
  const render = async (paths: readonly PagePath[]) => {
    version++
    for (let at = 0; at < paths.length; at += 100) {
      await enqueue(pool, domain, paths.slice(at, at + 100), 'refresh')
      const jobs = await queue.claim()
      renders += jobs.length
      await Promise.all(
        jobs.map(async (job) => {
          const html = await htmlOf(job.page.path, version, 1_000)
          await complete(job, { ...RENDERED, html } as never)
        }),
      )
    }
  }
  const beganMs = performance.now()
  await render(kept)
  await render(purged)
  let purges = 0
  while (purges < PURGES) {
    const purging = Promise.all(
      [0, 1, 2, 3].map(async (client) => {
        for (let at = client; at < step; at += 4) {
          await queue.purge(domain, { kind: 'path', path: purged[at]! })
          purges++
        }
      }),
    )
    await Promise.all([purging, render(kept.slice(0, 200))])
    if (purges < PURGES) await render(purged)
  }
  const left = await queue.stored(domain)
  const { rowCount: condemned } = await pool.query(`update body_gone set at = at - interval '2 hours'`)
  const swept = await sweepBodies(pool, inStore.client!)
  const checked = await checkSample(pool, inStore, step + TEXTS_CHARS.length * PAGES)
  const keys = await queue.column<string>('select body_key from page where body_key is not null order by 1')
  const objects = new Set(await bucket.objects())
  const lost = keys.filter((key) => !objects.has(key)).length
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(0)
  console.log(
    `${purges} purges beside ${renders} renders in ${seconds} s: ${left.length} pages are left, of ${step} kept ones; ` +
      `${condemned} keys condemned, ${swept.deleted} objects deleted, ${swept.failed} failed; ` +
      `${keys.length} keys in rows, ${objects.size - keys.length + lost} orphans, ${lost} lost, of ${checked.read} read ${checked.missing + checked.damaged} missing or damaged`,
  )
  if (
    left.length !== step ||
    lost > 0 ||
    objects.size !== keys.length ||
    checked.missing + checked.damaged > 0
  )
    process.exitCode = 1
}
