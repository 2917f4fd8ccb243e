import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { PageReading } from '@prepaint/contract/reading/page-reading.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { htmlOf, packText } from './stored-page.ts'

/**
 * A reading beside its page. Its words are left out: they would take far more room than all else, and are compared with
 * a new finding only, for which the newest pages are read anew.
 */
export type StoredReading = Omit<PageReading, 'words'>

/** Raise it when readings mean something else. Those with another number are not used: the page is read anew. */
const VERSION = 1

/** Twice what the limits of a reading allow. */
const JSON_LIMIT_BYTES = 1_000_000

/** A reading for the column `page.reading_br`: 480 bytes of brotli, where its JSON has 1,800. */
export function packReading({ words: _, ...reading }: PageReading): Promise<Buffer> {
  return packText(Buffer.from(JSON.stringify({ version: VERSION, ...reading })))
}

/**
 * Returns null if the page has another snapshot by now than the one named `etag`, or if the node that stored it reads
 * pages in another way: read the HTML with `readPage` then.
 */
export async function findReading(db: Queryable, page: PageId, etag: string): Promise<StoredReading | null> {
  const { rows } = await db.query<{ reading_br: Buffer | null }>({
    name: 'page-reading-read',
    text: `select reading_br from page where domain_id = $1 and path = $2 and variant = $3 and etag = $4`,
    values: [page.domain, page.path, page.variant, etag],
  })
  const packed = rows[0]?.reading_br ?? null
  if (packed === null) return null
  const { version, ...reading } = JSON.parse(await htmlOf({ bodyBr: packed }, JSON_LIMIT_BYTES))
  return version === VERSION ? reading : null
}
