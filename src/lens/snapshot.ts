import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

import type { Queryable } from '../db/transaction.ts'
import type { DomainId, DomainName, PagePath } from '../ids.ts'
import { readStored, type StoredPage, type StoredRedirect } from '../pages/stored-page.ts'
import { factsOf, type PageFacts } from './facts.ts'

const decompress = promisify(brotliDecompress)

/** Twice the most that a render keeps. */
const HTML_LIMIT_BYTES = 32 * 1024 * 1024
/** Of larger documents only the beginning is read for what it says: whoever asks waits for it. In characters. */
const READ_CHARS = 4_000_000

/** What is stored for a path, with its HTML; null: nothing. The domain was found through its account. */
export async function readSnapshot(
  db: Queryable,
  domain: DomainId,
  path: PagePath,
): Promise<(StoredPage & { html: string }) | StoredRedirect | null> {
  const stored = await readStored(db, domain, path)
  if (stored?.kind !== 'page') return stored
  const html = await decompress(stored.bodyBr, { maxOutputLength: HTML_LIMIT_BYTES })
  return { ...stored, html: html.toString('utf8') }
}

/** What a stored page says. */
export function storedFacts(html: string, domain: DomainName, path: PagePath): PageFacts {
  return factsOf(html.slice(0, READ_CHARS), `https://${domain}${path}`)
}
