import { parentPort } from 'node:worker_threads'
import type { DerivedForm, FormFacts } from '@prepaint/contract/outcome/form.ts'
import { robotsText } from '@prepaint/contract/reading/robots.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import type { StoredReading } from '../store/stored-reading.ts'
import { pageCard } from './card.ts'
import { pageMarkdown } from './markdown.ts'

export type Conversion = {
  form: DerivedForm
  html: string
  /** The public URL: base of relative links. */
  url: string
  /** Null if the page is not stored, or if an older version stored it. */
  reading: StoredReading | null
  /** When the page's HTML last changed, ISO 8601. */
  changedAt: string
  /** The hash of the text that the path last had, and when it got that. Null if that is unknown. */
  textChange: { hash: string; changedAt: string } | null
}

/** `facts`: for response headers. `canonical` and `robots` are null if the page names none; `robots` is the value of an `X-Robots-Tag`. */
export type Converted = {
  text: string
  facts: FormFacts
}

/** Throws for a page that is nested too deeply. */
export function convert({ form, html, url, reading, textChange, changedAt }: Conversion): Converted {
  const page = reading ?? readPage(html, url)
  const { canonical, robots } = page
  // Most changes of the HTML leave the text as it was.
  const modified = textChange?.hash === page.textHash ? textChange.changedAt : changedAt
  const text = form === 'card' ? pageCard(html, url, page) : pageMarkdown(html, page, { url, modified })
  return { text, facts: { chars: text.length, canonical, robots: robotsText(robots) } }
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
