import type { RobotsRules } from './robots.ts'
import type { PageWords } from './words.ts'

/**
 * What a page says, read once from its HTML: by the engine with each snapshot, and again only for pages that an older
 * version stored. Every list and text is bounded. Whole texts and links are `PageFacts`.
 */
export type PageReading = {
  /** The first `title` with a text. Titles inside of SVG are those of drawings. */
  title: string | null
  description: string | null
  /** The language that `lang` of `html` names. */
  language: string | null
  /** The first `link` of the head with the token `canonical` and an address of http or https; absolute. */
  canonical: string | null
  /** The first `base` with an `href`, to which addresses are relative. If it is null, they are relative to the page's own address. */
  base: string | null
  robots: RobotsRules
  /** The first `h1` and `h2`: `h1: Rakes`. */
  headings: string[]
  /** `og:title`, `twitter:card` and the like, the first of each. */
  social: Record<string, string>
  /** The types of its JSON-LD, each once. */
  structuredTypes: string[]
  /** How many links lead to an address of http or https. */
  links: number
  /** The beginning of its text. */
  excerpt: string
  /** The length of its whole text. */
  textChars: number
  /** SHA-256 of title, description and text, in hexadecimal. Tags, scripts and white space do not count. */
  textHash: string
  /** The words that are compared with a site's page for missing pages, or null if the page is too long to be one. */
  words: PageWords | null
  /** It links to Markdown of the site's own. */
  hasOwnMarkdown: boolean
}
