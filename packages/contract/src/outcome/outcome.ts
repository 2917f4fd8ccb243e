import type { AccountId, DomainName, PagePath } from '../ids.ts'
import type { PageReading } from '../reading/page-reading.ts'
import type { RuleChange } from '../rules/schema.ts'

export type RenderRequest = {
  /** Is absent for `prepaint render`. */
  account?: AccountId
  /** Renders of one domain share a browser context; two domains never do. */
  customDomain: DomainName
  /** http or https, without a path. The gateway fetches the custom domain from here. */
  originUrl: string
  path: PagePath
  visitor?: Visitor | undefined
  /** The rule of the path. It is absent if it does nothing to renders. */
  rule?: RenderRule | undefined
  /** Lists and patterns of hosts that the page must not reach; part of the browser context. */
  block?: readonly string[] | undefined
  /** Headers for the origin only, names and values by turns. They are part of the browser context. */
  originHeaders?: readonly string[] | undefined
  /** A crawler waits until then: what is there is captured, as `incomplete`. Milliseconds since the Unix epoch. */
  captureByMs?: number | null
  /** Ends as `aborted` where a browser is needed. */
  withoutBrowser?: boolean
  /** Aborts the render: the node drains, or the job was taken away. */
  signal: AbortSignal
}

/** `index` is the place in the domain's list, counted from 0. */
export type RenderRule = {
  index: number
  waitFor?: string | undefined
  waitMs?: number | undefined
  change?: RuleChange | undefined
}

export type Visitor = {
  /** `mobile` has the screen, touch, user agent and client hints of a phone. Without it the visitor is a desktop. */
  device?: 'mobile' | undefined
  userAgent?: string | undefined
  viewport?: { width: number; height: number } | undefined
  /** BCP 47, `de-CH`. */
  locale?: string | undefined
  /** IANA, `Europe/Zurich`. */
  timeZone?: string | undefined
}

export type RedirectStatus = 301 | 302 | 303 | 307 | 308

export type Excess =
  | 'requests'
  | 'response-bytes'
  | 'page-bytes'
  | 'unpacked-bytes'
  | 'event-bytes'
  | 'elements'
  | 'frames'
  | 'snapshot-bytes'
  | 'memory'

/** The engine makes `reading` with the snapshot. */
export type GivenPage = {
  status: number
  headers: [name: string, value: string][]
  html: string
  reading: PageReading
}

export type RenderOutcome =
  | ({
      kind: 'rendered'
      /** Names the site's build by its scripts and style sheets. */
      application?: string | null
      /** The address that scripts set without loading it, or null if they set none. */
      movedTo?: string | null
      /** Is true if scripts and handlers were taken out of the document. */
      unscripted?: boolean
      /** The document was complete as it came: no browser was asked. */
      isStatic?: boolean
      /** Requests that stayed unanswered for the whole render. */
      missing?: string
      /** The page as its rule wants it, after `html` was judged. It is absent if there is no rule. */
      changed?: Omit<GivenPage, 'status'> & { changes: RuleChanges }
    } & GivenPage)
  /**
   * Something that belongs to the page did not come in time; `reason` says what. `page` is served to the waiting
   * crawler, never stored. It is null if there is nothing to see yet.
   */
  | { kind: 'incomplete'; reason: string; page: GivenPage | null }
  | { kind: 'redirect'; status: RedirectStatus; location: string; cacheControl?: string }
  | { kind: 'not-html'; contentType: string }
  | { kind: 'origin-error'; status: number }
  /** The page set the status of a temporary error (`prerender-status-code` 503). Served, never stored. */
  | ({ kind: 'site-error' } & GivenPage)
  | { kind: 'origin-unreachable'; reason: string }
  | { kind: 'timed-out'; afterMs: number; reason?: string }
  | { kind: 'blank' }
  /** A bot guard in front of the origin; `mark` names it if known. */
  | { kind: 'challenge'; mark: string }
  /** An error text with a successful status. */
  | { kind: 'error-page'; mark: string }
  | { kind: 'too-large'; what: Excess }
  | { kind: 'crashed'; reason: string }
  | { kind: 'aborted' }

/** What a rule changed, for the owner. Elements are counted by selector. */
export type RuleChanges = {
  /** The place of the rule in the domain's list, counted from 0. */
  rule: number
  removed: { selector: string; elements: number }[]
  /** Consent banners and their overlays. */
  consent: number
  /** `title`, `robots`, `canonical`, or the name of a meta element. */
  head: string[]
  headers: string[]
}

export type RenderOutcomeKind = RenderOutcome['kind']

/** What one page may use inside the browser. The gateway limits traffic. */
export type PageLimits = {
  /** Bodies of the page and its frames together, after decompression. */
  unpackedBytes: number
  /** Events that Chromium sends about the page; one browser thread writes them for all pages. */
  eventBytes: number
  /** Elements in the document and its shadow roots, at the snapshot. */
  elements: number
  /** Attached to the page during the render, whether they stay or not. */
  frames: number
  snapshotBytes: number
  memoryBytes: number
}

const MIB = 1024 * 1024

export const PAGE_LIMITS: PageLimits = {
  unpackedBytes: 128 * MIB,
  eventBytes: 64 * MIB,
  elements: 500_000,
  frames: 1_000,
  // PostgreSQL and crawlers refuse larger snapshots.
  snapshotBytes: 16 * MIB,
  memoryBytes: 768 * MIB,
}
