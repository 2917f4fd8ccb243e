import type { Queryable } from '../db/transaction.ts'
import type { ClaimedJob } from './claim.ts'
import { createDoubter } from './doubt.ts'
import type { Effect } from './effect.ts'
import type { JobEnd } from './job.ts'
import { createSoft404Judge } from './refuse-soft-404.ts'
import { readStatement } from './statement.ts'

/** How a job ends whose page was looked at; `detail`: empty where that says all. */
export type Kept = { ended: JobEnd; detail: string }

/**
 * Stores a page in the place of the last good copy, unless it is worse than
 * that, reads like none, or the month has no room. Inside the transaction of
 * `complete`; `count` counts the render, and says whether there was room.
 */
export function createPageKeeper() {
  const readsLikeNone = createSoft404Judge()
  const doubted = createDoubter()
  const store = readStatement('store-page')

  return async (
    client: Queryable,
    { domain, path }: Pick<ClaimedJob, 'domain' | 'path'>,
    page: Extract<Effect, { do: 'store-page' }>,
    at: Date,
    count: (client: Queryable) => Promise<boolean>,
  ): Promise<Kept> => {
    const { body, status, textChars, application } = page
    const refusal =
      (await readsLikeNone(client, domain, page.look)) ??
      (await doubted(client, domain, path, { status, textChars }, at))
    if (refusal !== null) {
      return { ended: { state: 'failed', outcome: refusal.outcome }, detail: refusal.detail }
    }
    if (!(await count(client))) return { ended: { state: 'failed', outcome: 'over-quota' }, detail: '' }
    const headers = JSON.stringify(page.headers)
    const stored = [status, headers, body.bodyBr, body.htmlBytes, body.etag, at, textChars, application]
    const { rows } = await client.query({ ...store, values: [domain, path, ...stored] })
    const detail = rows[0]?.['unchanged'] === true ? 'unchanged' : ''
    return { ended: { state: 'done', outcome: 'rendered' }, detail }
  }
}
