import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'

import type pg from 'pg'

import { removeOld, type Steps } from '../db/remove-old.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainName } from '../ids.ts'
import type { Log } from '../log.ts'
import { DIGEST_FACTS, factsOf, type PageFacts } from '../sites/inspection/facts.ts'
import { etagOf } from './keep-page.ts'
import type { PageId } from './page-id.ts'

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

export const DIGESTS_A_PAGE = 5
const KEPT_DAYS = 30
/** Larger documents have no history: reading them takes as long as a render. */
export const DIGEST_LIMIT_CHARS = 2_000_000
/** Further pages get no digest. */
export const WAITING_LIMIT = 50
const FACTS_LIMIT_BYTES = 1_000_000

export type Digest = {
  etag: string
  status: number
  htmlBytes: number
  renderedAt: Date
  facts: PageFacts
}

export type Stored = { page: PageId; customDomain: DomainName; html: string }

export function createDigester({ pool, log }: { pool: pg.Pool; log: Log }) {
  let waiting = 0
  let chain = Promise.resolve()

  function note(stored: Stored): void {
    if (waiting >= WAITING_LIMIT || stored.html.length > DIGEST_LIMIT_CHARS) return
    waiting++
    chain = chain
      .then(async () => void (await keepDigest(pool, stored)))
      .catch((error: Error) =>
        log.warn({ err: error, domain: stored.customDomain }, 'what a page says could not be kept'),
      )
      .finally(() => {
        waiting--
      })
  }

  /** Resolves when everything noted so far is stored or dropped. */
  return { note, close: () => chain }
}

/** False: the page was replaced, or equals the last digest. */
export async function keepDigest(db: Queryable, { page, customDomain, html }: Stored): Promise<boolean> {
  const etag = etagOf(html)
  const values = [page.domain, page.path, etag, page.variant]
  const { rowCount: isNew } = await db.query(
    `select from page p where p.domain_id = $1 and p.path = $2 and p.variant = $4 and p.etag = $3 and $3 is distinct from (
       select d.etag from page_digest d where d.domain_id = $1 and d.path = $2 and d.variant = $4 order by d.id desc limit 1)`,
    values,
  )
  if (isNew === 0) return false
  const facts = Buffer.from(
    JSON.stringify(factsOf(html, `https://${customDomain}${page.path}`, DIGEST_FACTS)),
  )
  const packed = await compress(facts, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
  // Store nothing if the page was purged meanwhile.
  const { rowCount } = await db.query(
    `with kept as (
       insert into page_digest (domain_id, path, variant, etag, status, html_bytes, rendered_at, facts)
       select p.domain_id, p.path, p.variant, p.etag, p.status, p.html_bytes, p.rendered_at, $5
         from page p where p.domain_id = $1 and p.path = $2 and p.variant = $4 and p.etag = $3
       returning id
     ), old as (
       delete from page_digest where id in (
         select id from page_digest where domain_id = $1 and path = $2 and variant = $4 and exists (select from kept)
          order by id desc offset $6 - 1 limit 100)
     )
     select from kept`,
    [...values, packed, DIGESTS_A_PAGE],
  )
  return rowCount === 1
}

export async function listDigests(db: Queryable, page: PageId): Promise<Digest[]> {
  const { rows } = await db.query<{
    etag: string
    status: number
    html_bytes: number
    rendered_at: Date
    facts: Buffer
  }>(
    `select etag, status, html_bytes, rendered_at, facts from page_digest
      where domain_id = $1 and path = $2 and variant = $3 order by id desc limit $4`,
    [page.domain, page.path, page.variant, DIGESTS_A_PAGE],
  )
  return Promise.all(
    rows.map(async ({ etag, status, html_bytes, rendered_at, facts }) => ({
      etag,
      status,
      htmlBytes: html_bytes,
      renderedAt: rendered_at,
      facts: JSON.parse(
        (await decompress(facts, { maxOutputLength: FACTS_LIMIT_BYTES })).toString(),
      ) as PageFacts,
    })),
  )
}

/** Returns how many. */
export function removeOldDigests(pool: pg.Pool, steps: Steps = {}): Promise<number> {
  return removeOld(pool, { table: 'page_digest', at: 'rendered_at', keptDays: KEPT_DAYS }, steps)
}
