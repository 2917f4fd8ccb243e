import { parentPort } from 'node:worker_threads'
import { factsForSitemap } from '../site-files/page-facts.ts'
import { pageCard } from './card.ts'
import type { FormFacts, FormSource } from './form.ts'
import { pageMarkdown } from './markdown.ts'

export type Conversion = FormSource & { html: string }
export type Converted = { text: string; facts: FormFacts }

/** Throws for a page that is nested too deeply. */
export function convert({ form, html, url, textChange, ...given }: Conversion): Converted {
  // Most changes of the HTML leave the text as it was.
  const isOfText = textChange && textHash(html) === textChange.hash
  const { changedAt } = isOfText ? textChange : given
  const { text, head } = form === 'card' ? pageCard(html, url) : pageMarkdown(html, { url, changedAt })
  return { text, facts: { chars: text.length, canonical: head.canonical, robots: head.robots } }
}

function textHash(html: string): string {
  return factsForSitemap(html, [], { name: '', path: '/', query: 'keep' }).hash.toString('hex')
}

// In a worker thread of src/forms/converter.ts, which waits until the code is loaded.
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
