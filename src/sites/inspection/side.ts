import type { Queryable } from '../../db/transaction.ts'
import type { DomainName, PagePath } from '../../ids.ts'
import type { PageId } from '../../store/page-id.ts'
import { htmlOf, readStored, type StoredPage, type StoredRedirect } from '../../store/stored-page.ts'
import { factsOf, type PageFacts } from './facts.ts'

/** What is kept of one look at a page: what it said, and how its load went. */
export type Side = {
  /** Of the main answer; null: none came. */
  status: number | null
  /** Where one has arrived. */
  url: string
  /** Until its load event, milliseconds; null: it never came. */
  loadedMs: number | null
  /** The page goes on below its picture. */
  isCut: boolean
  requests: { made: number; blocked: number; failed: number }
  /** That came. */
  pictures: number
  troubles: { url: string; kind: string; reason: string }[]
  consoleErrors: { count: number; texts: string[] }
  facts: PageFacts | null
}

/** A look that came to nothing, and why. */
export type NoSide = { reason: string }

/** As PostgreSQL can store it: no NUL, no half characters. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' ? each.replaceAll('\0', '').toWellFormed() : each,
  )
}

/** In characters. Of larger documents only the beginning is read, because a request waits for it. */
const READ_CHARS = 4_000_000

/** What is stored for a path, with its HTML; null: nothing. The domain was found through its account. */
export async function readSnapshot(
  db: Queryable,
  page: PageId,
): Promise<(StoredPage & { html: string }) | StoredRedirect | null> {
  const stored = await readStored(db, page)
  return stored?.kind === 'page' ? { ...stored, html: await htmlOf(stored) } : stored
}

/** What a stored page says. */
export function storedFacts(html: string, domain: DomainName, path: PagePath): PageFacts {
  return factsOf(html.slice(0, READ_CHARS), `https://${domain}${path}`)
}
