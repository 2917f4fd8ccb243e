import type { DomainName, PagePath } from '../ids.ts'

/** One page to render. Everything a render needs to know; it never looks anything up. */
export type RenderRequest = {
  /** Renders of one domain share a browser context; no two domains ever do. */
  customDomain: DomainName
  /** http or https, without a path. The gateway fetches the custom domain from here. */
  originUrl: string
  path: PagePath
  /** Absent: everybody's. */
  visitor?: Visitor | undefined
  /** Ends the render from outside: the node drains, the job was taken away. */
  signal: AbortSignal
}

/** Whom the site sees, where its owner wants another than the usual one. */
export type Visitor = {
  userAgent?: string | undefined
  /** In CSS pixels. */
  viewport?: { width: number; height: number } | undefined
  /** BCP 47, `de-CH`. */
  locale?: string | undefined
  /** IANA, `Europe/Zurich`. */
  timeZone?: string | undefined
}

export type RedirectStatus = 301 | 302 | 303 | 307 | 308

/** What a page had more of than one page may have; the limits are in `page-limits.ts` and the gateway's. */
export type Excess =
  | 'requests'
  | 'response-bytes'
  | 'page-bytes'
  | 'unpacked-bytes'
  | 'event-bytes'
  | 'elements'
  | 'snapshot-bytes'
  | 'memory'

/** What came of a render. Every member is expected; none of them is thrown. */
export type RenderOutcome =
  | {
      kind: 'rendered'
      status: number
      headers: [name: string, value: string][]
      html: string
      /** Names the build of the site that made it: the scripts and style sheets that its document asks for. */
      application?: string | null
      /** The address that its scripts wrote over the one that was asked for, without loading it; null: none. */
      movedTo?: string | null
    }
  /** `cacheControl`: what the origin says about keeping it; absent or empty: nothing. */
  | { kind: 'redirect'; status: RedirectStatus; location: string; cacheControl?: string }
  /** The origin answered something that is not a page; the edge passes it. */
  | { kind: 'not-html'; contentType: string }
  | { kind: 'origin-error'; status: number }
  /**
   * The page asks for the status of an error of the moment (`prerender-status-code`
   * 500, 503 ...): given with it to whoever waits, never stored.
   */
  | { kind: 'site-error'; status: number; headers: [name: string, value: string][]; html: string }
  | { kind: 'origin-unreachable'; reason: string }
  | { kind: 'timed-out'; afterMs: number }
  | { kind: 'blank' }
  /** Somebody in front of the origin asks whether we are human. `mark`: who, as far as that is known. */
  | { kind: 'challenge'; mark: string }
  /** It says that something is broken, and nothing else, with a status that says otherwise. */
  | { kind: 'error-page'; mark: string }
  | { kind: 'too-large'; what: Excess }
  | { kind: 'crashed'; reason: string }
  | { kind: 'aborted' }

export type RenderOutcomeKind = RenderOutcome['kind']
