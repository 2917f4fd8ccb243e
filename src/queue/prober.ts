import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type pg from 'pg'

import { transaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { readStored } from '../pages/stored-page.ts'
import type { ClaimedJob } from './claim.ts'
import type { Completion } from './complete.ts'
import type { Found } from './effect.ts'
import { enqueue } from './enqueue.ts'
import { probeDetail, probePath } from './probe.ts'
import { type Finding, readsLike } from './soft-404.ts'
import { readStatement } from './statement.ts'

/** Pages of a domain that are looked at again when it is found out how it looks without a page. */
export const SWEEP_LIMIT = 200
/** None of them is larger than this when written out. */
const HTML_LIMIT_BYTES = 2 * 1024 * 1024

const decompress = promisify(brotliDecompress)

export type Prober = {
  /**
   * Once a job has ended, with whatever was stored in its transaction. After a
   * page: queues a probe of its site, at `warm`, if one is due. After a probe:
   * removes the pages that were stored before it and read like none; gives what
   * the owner reads about it, else null.
   */
  after(
    job: Pick<ClaimedJob, 'domain' | 'path'>,
    found: Found,
    end: Completion,
    nowMs: number,
  ): Promise<string | null>
}

/** Keeps what is known about how sites look without a page: asks for probes, never on the way of a crawler. */
export function createProber(pool: pg.Pool, random: (bytes: number) => Uint8Array): Prober {
  const due = readStatement('due-probe')
  const ask = readStatement('ask-probe')
  const remove = readStatement('remove-soft-404')

  return {
    async after({ domain }, found, end, nowMs) {
      if (end.state !== 'done') return null
      if (found.kind === 'rendered') await askIfDue(domain, found.application ?? null, nowMs)
      if (found.kind !== 'probed' || found.finding === null) return null
      const removed = await sweep(domain, found.finding)
      const also = removed === 0 ? '' : `; stored pages that read the same and were removed: ${removed}`
      return `${probeDetail(found.finding)}${also}`
    },
  }

  async function askIfDue(domain: DomainId, application: string | null, nowMs: number): Promise<void> {
    const values = [domain, new Date(nowMs), application]
    const { rowCount } = await pool.query({ ...due, values })
    if (rowCount === 0) return
    await transaction(pool, async (client) => {
      const asked = await client.query({ ...ask, values })
      if (asked.rowCount === 0) return
      const [job] = await enqueue(client, domain, [probePath(random(32))], 'warm')
      await client.query('update probe set job_id = $2 where domain_id = $1', [domain, job?.jobId])
    }).catch((error) => {
      // A full queue has other worries; the next page that is stored asks again.
      if (error instanceof AppError && error.code === 'queue_full') return
      throw error
    })
  }

  async function sweep(domain: DomainId, finding: Finding): Promise<number> {
    if (finding.kind === 'none') return 0
    const { rows } = await pool.query<{ path: PagePath }>(
      `select path from page where domain_id = $1 and status = 200 and path <> '/' and html_bytes <= $2
        order by rendered_at desc limit $3`,
      [domain, HTML_LIMIT_BYTES, SWEEP_LIMIT],
    )
    const bad: { path: PagePath; etag: string }[] = []
    // One at a time: together they could be hundreds of megabytes.
    for (const { path } of rows) {
      const page = await readStored(pool, domain, path)
      if (page?.kind !== 'page' || page.htmlBytes > HTML_LIMIT_BYTES) continue
      const html = String(await decompress(page.bodyBr, { maxOutputLength: HTML_LIMIT_BYTES }))
      if (readsLike(finding, { path, html })) bad.push({ path, etag: page.etag })
    }
    if (bad.length === 0) return 0
    const values = [domain, bad.map(({ path }) => path), bad.map(({ etag }) => etag)]
    return (await pool.query({ ...remove, values })).rowCount ?? 0
  }
}
