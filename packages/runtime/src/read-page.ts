import { createHash } from 'node:crypto'
import { readingOf } from '@prepaint/contract/reading/page-reader.ts'
import type { PageReading } from '@prepaint/contract/reading/page-reading.ts'

/** Reads `html` as a browser serializes it. `url` is the page's public address. */
export function readPage(html: string, url: string): PageReading {
  return readingOf(html, url, (text) => createHash('sha256').update(text).digest('hex'))
}
