export type PrepaintOptions = {
  /** The API of Prepaint, such as `http://127.0.0.1:3000`. */
  service: string
  /** The site token of the domain, or an API key of its account. */
  key: string
  /** What visitors see, such as `https://www.example.com`. Default: what the request says. */
  site?: string
  /** The longest time for a page in ms; then the site answers. Default: 15000. */
  waitMs?: number
  /** User agents that may be crawlers. Default: `CRAWLERS`. */
  crawlers?: RegExp
  /** Told of each answer that is no page and no pass: a dead key, an unknown domain. */
  onRefused?(refusal: { status: number; text: string }): void
}

export type PrepaintSiteOptions = PrepaintOptions & { site: string }

export type Prepaint = {
  mayBeForUs(request: Request): boolean
  /** The whole page, or null: the site answers. Never rejects. */
  page(request: Request): Promise<Response | null>
}

/** Throws a TypeError that names a bad option. */
export function prepaint(options: PrepaintOptions): Prepaint

export const CRAWLERS: RegExp
