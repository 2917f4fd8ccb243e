import { parentPort } from 'node:worker_threads'
import type { DerivedForm } from '@prepaint/contract/outcome/form.ts'
import { factsForSitemap } from '../site-files/page-facts.ts'
import { pageCard } from './card.ts'
import { pageMarkdown } from './markdown.ts'

export type Conversion = {
  form: DerivedForm
  html: string
  /** The public URL: base of relative links. */
  url: string
  /** When the page's HTML last changed, ISO 8601. */
  changedAt: string
  /** The hash of the text that the path last had, and when it got that. null: unknown. */
  textChange: { hash: string; changedAt: string } | null
}

/** `facts`: for response headers. `robots` and `canonical` null: the page names none. */
export type Converted = {
  text: string
  facts: { chars: number; canonical: string | null; robots: string | null }
}

/** Throws for a page that is nested too deeply. */
export function convert({ form, html, url, textChange, changedAt }: Conversion): Converted {
  // Most changes of the HTML leave the text as it was.
  const isOfText = textChange && textHash(html) === textChange.hash
  const modified = isOfText ? textChange.changedAt : changedAt
  const { text, head } = form === 'card' ? pageCard(html, url) : pageMarkdown(html, url, modified)
  return { text, facts: { chars: text.length, canonical: head.canonical, robots: head.robots } }
}

function textHash(html: string): string {
  return factsForSitemap(html, [], { name: '', path: '/', query: 'keep' }).hash.toString('hex')
}

// In a worker thread of packages/pages/src/forms/converter.ts, which waits until the code is loaded.
parentPort?.postMessage('ready')
parentPort?.on('message', (conversion: Conversion) => {
  let answer: Converted | null = null
  try {
    answer = convert(conversion)
  } catch {
    // A document that has no such form: the page is served as HTML.
  }
  parentPort!.postMessage(answer)
})
