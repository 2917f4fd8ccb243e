import type { DomainName, PagePath } from '../ids.ts'
import type { RenderRequest, Visitor } from './outcome.ts'
import type { Rendering, RenderRecord } from './record.ts'

/** Renders pages for crawlers, and shows what a person sees of them. The engine is one. */
export interface Renderer {
  /** Never rejects: a failure is an outcome. */
  render(request: RenderRequest): Promise<Rendering>
  /** Loads a page in real time, as a person would. Rejects if that fails or takes too long, or if the signal aborts. */
  inspect(request: InspectionRequest): Promise<Inspected>
  /** Returns the CSS selectors that the browser refuses. Rejects if there is no browser to ask. */
  checkSelectors(selectors: readonly string[]): Promise<SelectorProblem[]>
  /** Says whether pages can be rendered at this moment. */
  readonly healthy: boolean
}

export type InspectionRequest = {
  customDomain: DomainName
  /** http or https, without a path. */
  originUrl: string
  path: PagePath
  visitor?: Visitor | undefined
  /** Headers for the origin only, names and values by turns. */
  originHeaders?: readonly string[] | undefined
  given?: GivenDocument | undefined
  signal: AbortSignal
}

/** A document that is shown without its scripts, in place of the site's response. */
export type GivenDocument = { status: number; html: string }

export type Inspected = {
  /** Status of the document; null if no response came. */
  status: number | null
  /** The address after redirects. */
  url: string
  /** The picture in WebP. */
  picture: Buffer
  /** Says whether the page goes on below its picture. */
  isCut: boolean
  /** The document when the picture was taken; null if it was given, is too large or is not HTML. */
  html: string | null
  /** Real milliseconds until the load event; null if it never came. */
  loadedMs: number | null
  requests: { made: number; blocked: number; failed: number }
  /** Images that were loaded. */
  pictures: number
  troubles: RenderRecord['troubles']
  consoleErrors: RenderRecord['consoleErrors']
}

/** `reason` is the browser's own text. */
export type SelectorProblem = { selector: string; reason: string }
