import type pg from 'pg'

import type { Queryable } from '../../db/transaction.ts'
import type { DomainId, JobId } from '../../ids.ts'
import { headerPairs, type StoredPage } from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import { readStatement } from '../statement.ts'
import type { Effect } from './effect.ts'
import type { PageBody } from './keep-page.ts'
import { lastGoodOf } from './last-good.ts'

/** A page that is given once, with the status that it asks for, and never stored as a page. */
export type UnstoredPage = {
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  body: PageBody
}

/** Whoever waits reads it within milliseconds; a crawler waits for at most some seconds more. */
export const UNSTORED_MS = 60_000
/** Of one domain at a time. */
export const UNSTORED_A_DOMAIN = 20
/** As stored. An error page that is larger goes without: the crawler gets the origin's answer. */
export const UNSTORED_LIMIT_BYTES = 1024 * 1024

/**
 * Leaves a page for the crawler that waits for the job, at whatever node: true
 * when one does and there is no good copy to serve on. Inside the transaction
 * of `complete`; whoever is told that the job has ended finds it. HTML is too
 * large for a notification. A page that may not be stored is forgotten first.
 */
export function createUnstoredKeeper() {
  const keep = readStatement('keep-unstored')
  const forget = readStatement('forget-page')
  const lastGood = lastGoodOf()
  return async (
    client: Queryable,
    job: ClaimedJob,
    { outcome, page }: Extract<Effect, { do: 'give-once' }>,
    isAwaited: boolean,
    at: Date,
  ): Promise<boolean> => {
    if (outcome === 'no-store') await client.query({ ...forget, values: [job.page.domain, job.page.path] })
    if (!isAwaited || page === null) return false
    const { status, headers, body } = page
    if (body.bodyBr.length > UNSTORED_LIMIT_BYTES) return false
    const last = await lastGood(client, job.page)
    if (last !== null && last.status < 400 && at.getTime() - last.renderedAtMs < last.keepMs) return false
    const since = new Date(at.getTime() - UNSTORED_MS)
    const columns = [status, JSON.stringify(headers), body.bodyBr, body.htmlBytes, body.etag]
    await client.query({
      ...keep,
      values: [job.id, job.page.domain, ...columns, since, UNSTORED_A_DOMAIN, at],
    })
    return true
  }
}

type Row = {
  status: number
  headers: unknown
  body_br: Buffer
  html_bytes: number
  etag: string
  made_at: Date
}

const READ = {
  name: 'unstored-page-read',
  text: `select status, headers, body_br, html_bytes, etag, made_at from unstored_page
          where job_id = $1 and domain_id = $2`,
}

/** What a job has left for those who waited for it; null: nothing, or no longer. The domain id was obtained through its host. */
export async function readUnstored(db: Queryable, domain: DomainId, job: JobId): Promise<StoredPage | null> {
  const { rows } = await db.query<Row>({ ...READ, values: [job, domain] })
  const row = rows[0]
  if (row === undefined) return null
  return {
    kind: 'page',
    status: row.status,
    headers: headerPairs(row.headers),
    bodyBr: row.body_br,
    htmlBytes: row.html_bytes,
    etag: row.etag,
    renderedAtMs: row.made_at.getTime(),
    staleSinceMs: null,
  }
}

/** Removes what nobody can be waiting for any more, at `nowMs`. Gives how many. */
export async function removeOldUnstored(pool: pg.Pool, nowMs: number): Promise<number> {
  const { rowCount } = await pool.query('delete from unstored_page where made_at < $1', [
    new Date(nowMs - UNSTORED_MS),
  ])
  return rowCount ?? 0
}
