import type { DomainName, PagePath } from '../ids.ts'

export type RenderRequest = {
  /** Renders of one domain share a browser context; no two domains ever do. */
  customDomain: DomainName
  /** http or https, without a path. The gateway fetches the custom domain from here. */
  originUrl: string
  path: PagePath
  /** Absent: the usual one. */
  visitor?: Visitor | undefined
  /** Ends the render: the node drains, or the job was taken away. */
  signal: AbortSignal
}

/** The browser that the site sees, where its owner wants another than the usual one. */
export type Visitor = {
  userAgent?: string | undefined
  viewport?: { width: number; height: number } | undefined
  /** BCP 47, `de-CH`. */
  locale?: string | undefined
  /** IANA, `Europe/Zurich`. */
  timeZone?: string | undefined
}

export type RedirectStatus = 301 | 302 | 303 | 307 | 308

/** The limit that a page exceeded: one of `PAGE_LIMITS` or of the gateway's. */
export type Excess =
  | 'requests'
  | 'response-bytes'
  | 'page-bytes'
  | 'unpacked-bytes'
  | 'event-bytes'
  | 'elements'
  | 'snapshot-bytes'
  | 'memory'

/** The result of a render. All are expected; none of them is thrown. */
export type RenderOutcome =
  | {
      kind: 'rendered'
      status: number
      headers: [name: string, value: string][]
      html: string
      /** Names the build of the site, by the scripts and style sheets in its document. */
      application?: string | null
      /** The address that its scripts set without loading it; null: none. */
      movedTo?: string | null
    }
  | { kind: 'redirect'; status: RedirectStatus; location: string; cacheControl?: string }
  /** The origin's response is not a page; the edge passes it. */
  | { kind: 'not-html'; contentType: string }
  | { kind: 'origin-error'; status: number }
  /** The page asks for the status of a temporary error (`prerender-status-code` 503): served with it, never stored. */
  | { kind: 'site-error'; status: number; headers: [name: string, value: string][]; html: string }
  | { kind: 'origin-unreachable'; reason: string }
  | { kind: 'timed-out'; afterMs: number }
  | { kind: 'blank' }
  /** A bot guard in front of the origin. `mark`: which, as far as that is known. */
  | { kind: 'challenge'; mark: string }
  /** It shows nothing but an error, with a status that says otherwise. */
  | { kind: 'error-page'; mark: string }
  | { kind: 'too-large'; what: Excess }
  | { kind: 'crashed'; reason: string }
  | { kind: 'aborted' }

export type RenderOutcomeKind = RenderOutcome['kind']

/**
 * What one page may use inside the browser; the gateway limits what comes over the wire. Far above any honest page.
 */
export type PageLimits = {
  /** Bodies of the page and its frames together, after decompression. */
  unpackedBytes: number
  /** Events that Chromium sends about the page; the browser's one main thread writes them for all pages. */
  eventBytes: number
  /** Elements in the document and its shadow roots at the snapshot. */
  elements: number
  snapshotBytes: number
  memoryBytes: number
}

const MIB = 1024 * 1024

export const PAGE_LIMITS: PageLimits = {
  unpackedBytes: 128 * MIB,
  eventBytes: 64 * MIB,
  elements: 500_000,
  // The database and every crawler refuse larger ones anyway.
  snapshotBytes: 16 * MIB,
  memoryBytes: 768 * MIB,
}
