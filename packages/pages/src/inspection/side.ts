import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredPage, StoredRedirect } from '@prepaint/contract/page/stored.ts'
import { factsOf, type PageFacts } from '@prepaint/contract/reading/facts.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { BodyStore } from '../store/bodies/body-store.ts'
import { htmlOf, readStored } from '../store/stored-page.ts'

export type Side = {
  /** The status of the main response, or null if none came. */
  status: number | null
  /** After redirects. */
  url: string
  /** The time until the load event, or null if it never came. */
  loadedMs: number | null
  /** The page is longer than its picture. */
  isCut: boolean
  requests: { made: number; blocked: number; failed: number }
  pictures: number
  troubles: { url: string; kind: string; reason: string }[]
  consoleErrors: { count: number; texts: string[] }
  facts: PageFacts | null
}

export type NoSide = { reason: string }

/** PostgreSQL's JSON cannot contain NUL or lone surrogates. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' ? each.replaceAll('\0', '').toWellFormed() : each,
  )
}

/** Larger documents are cut, because a request waits. */
const READ_CHARS = 4_000_000

export async function readSnapshot(
  db: Queryable,
  page: PageId,
  bodies: BodyStore,
): Promise<(StoredPage & { html: string }) | StoredRedirect | null> {
  const stored = await readStored(db, page, bodies)
  return stored?.kind === 'page' ? { ...stored, html: await htmlOf(stored) } : stored
}

export function storedFacts(html: string, domain: DomainName, path: PagePath): PageFacts {
  return factsOf(html.slice(0, READ_CHARS), `https://${domain}${path}`)
}
