/** Measures PostgreSQL's growth for each stored page, and what a render writes. */

import { seededRandom } from '../test/chaos/seeded-random.ts'
import { paths, testQueue } from '../test/support/queue.ts'

export type Measured = {
  htmlBytes: number
  bytesPerPage: number
  bodyBytes: number
  /** For a first render and for each later one, including the queue. */
  walPerRender: number
  walPerRefresh: number
  /** Rows that one render writes, and rows that it reads by index or scan. */
  rowsWritten: number
}

const WORDS = 6_000
const DOMAINS = 20

export async function measureStore(pages: number, htmlBytes: number): Promise<Measured> {
  const queue = await testQueue()
  const { pool } = queue
  const random = seededRandom(1)
  const vocabulary = Array.from({ length: WORDS }, () =>
    random()
      .toString(36)
      .slice(2, 4 + random() * 8),
  )
  const html = () => {
    let text = '<!doctype html><html><head><title>page</title></head><body>'
    while (text.length < htmlBytes) {
      const words = Array.from({ length: 12 }, () => vocabulary[Math.floor(random() ** 2 * WORDS)])
      text += `<div class="card item"><h2>${words.slice(0, 3).join(' ')}</h2><p>${words.slice(3).join(' ')}</p></div>`
    }
    return `${text}</body></html>`
  }
  const domains = await Promise.all(Array.from({ length: DOMAINS }, () => queue.domain()))
  const one = async <T>(sql: string): Promise<T> => (await pool.query<{ value: T }>(sql)).rows[0]!.value
  const size = () =>
    one<number>(
      `select sum(pg_total_relation_size(c.oid))::float8 as value from pg_class c
         join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname = 'public'`,
    )
  const wal = () => one<number>(`select (pg_current_wal_lsn() - '0/0')::float8 as value`)
  const written = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    return one<number>(
      'select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as value from pg_stat_user_tables',
    )
  }
  const { enqueue } = await import('@prepaint/pages/queue/jobs/enqueue.ts')
  const renderAll = async () => {
    for (const domain of domains) {
      const all = paths(pages / DOMAINS)
      for (let at = 0; at < all.length; at += 50) {
        await enqueue(pool, domain, all.slice(at, at + 50), 'refresh')
        for (const job of await queue.claim()) {
          await queue.complete(job, {
            kind: 'rendered',
            status: 200,
            headers: [['content-type', 'text/html']],
            html: html(),
          })
        }
      }
    }
  }
  const before = { size: await size(), wal: await wal(), rows: await written() }
  await renderAll()
  const first = { size: await size(), wal: await wal(), rows: await written() }
  await renderAll()
  const second = { wal: await wal() }
  const bodyBytes = await one<number>('select avg(length(body_br))::float8 as value from page')
  // Jobs and records are kept a week and a day; measure what stays.
  await pool.query('delete from job_ended')
  await pool.query('vacuum full')
  const kept = await size()
  await queue.close()
  return {
    htmlBytes,
    bodyBytes,
    bytesPerPage: (kept - before.size) / pages,
    walPerRender: (first.wal - before.wal) / pages,
    walPerRefresh: (second.wal - first.wal) / pages,
    rowsWritten: (first.rows - before.rows) / pages,
  }
}
