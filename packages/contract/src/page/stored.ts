import type { PageVariant } from './page-id.ts'

/** Times are milliseconds since the Unix epoch. */
export type StoredPage = {
  kind: 'page'
  variant: PageVariant
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  bodyBr: Buffer
  htmlBytes: number
  /** Has no quotes, only letters, digits, `-` and `_`. */
  etag: string
  renderedAtMs: number
  staleSinceMs: number | null
  /** The page links to Markdown of the site's own. */
  ownMarkdown?: boolean
  /** Is absent if the page changed when it was rendered. */
  changedAtMs?: number
  /** The uncompressed body, if a crawler waits for this render. */
  bodyHtml?: Buffer | undefined
  /** Names what a rule did to its render, and is empty if none did anything. */
  ruleEffect?: string
  ruleChanges?: unknown
}

export type StoredRedirect = {
  kind: 'redirect'
  variant: PageVariant
  status: number
  location: string
  renderedAtMs: number
  staleSinceMs: null
}

export type StoredEntry = StoredPage | StoredRedirect

/** What tells a stored page from a later one. If only the times differ, `bodyBr` is the body of both. */
export type PageVersion = {
  /** Is null for a redirect. */
  etag: string | null
  renderedAtMs: number
  staleSinceMs: number | null
  ruleEffect: string
  bodyBr: Buffer | null
}
