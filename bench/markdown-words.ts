/**
 * `node bench/markdown-words.ts [--sites swagger-ui,...,corpus] [--words]`
 * How much of a page's main content its Markdown holds: words in order (longest common subsequence) against what the same
 * snapshot shows in an ordinary browser. Default: all of test/apps and test/render. Lists pages below 1.
 */
import { parseArgs } from 'node:util'
import { pageMarkdown } from '../src/forms/markdown.ts'
import type { DomainName, PagePath } from '../src/ids.ts'
import { openCorpus } from './corpus-site.ts'
import { machineLine } from './figures.ts'
import { openSite } from './sites.ts'
import { startWordComparison, surplus, wordsOf } from './word-comparison.ts'

const AIM = 0.98
const { values } = parseArgs({
  options: { sites: { type: 'string' }, words: { type: 'boolean', default: false } },
})
const { sites, renderer, plain, close } = await startWordComparison(values.sites)

/** Runs in the page: the text that is shown of the main content, shadow roots flattened. */
const SHOWN_CONTENT = `(() => {
  const left = 'nav,dialog,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search]'
  const noText = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'SELECT', 'TEXTAREA', 'CANVAS', 'SVG', 'MATH'])
  const parts = []
  let mains = []
  const isSurrounding = (element) =>
    mains.length === 0 &&
    (element.matches(left) ||
      (element.matches('header,footer') && element.closest('article,aside,main,nav,section') === null) ||
      (element.matches('aside') && element.closest('article') === null))
  const walk = (node) => {
    if (node instanceof Text) parts.push(node.data)
    if (!(node instanceof Element)) return
    const { display, visibility } = getComputedStyle(node)
    if (display === 'none' || visibility === 'hidden' || noText.has(node.tagName.toUpperCase())) return
    if (isSurrounding(node)) return
    const isBlock = !display.startsWith('inline') && display !== 'contents'
    if (isBlock || node.tagName === 'BR') parts.push(' ')
    const slotted = node instanceof HTMLSlotElement ? node.assignedNodes() : []
    for (const child of slotted.length > 0 ? slotted : (node.shadowRoot ?? node).childNodes) walk(child)
    if (isBlock) parts.push(' ')
  }
  const found = [...document.querySelectorAll('main,[role=main]')]
  const outermost = found.filter((each) => !found.some((other) => other !== each && other.contains(each)))
  if (outermost.some((each) => each.textContent.trim() || each.querySelector('img'))) mains = outermost
  for (const top of mains.length > 0 ? mains : [document.body]) walk(top)
  return parts.join('')
})()`

console.log(machineLine())
console.log('share   words  page')
const shares: { share: number; words: number }[] = []
for (const name of sites) {
  const isCorpus = name === 'corpus'
  const site = isCorpus ? await openCorpus() : await openSite(name)
  const paths =
    'pages' in site ? site.pages.map((one) => one.path) : [site.page(0).path.split('?visit=')[0] ?? '/']
  const customDomain = `${name}.example` as DomainName
  for (const at of paths) {
    const request = { customDomain, originUrl: site.originUrl, path: at as PagePath }
    const { outcome } = await renderer.render({ ...request, signal: new AbortController().signal })
    if (outcome.kind !== 'rendered') continue
    const shown = await plain.evaluate(outcome.html, SHOWN_CONTENT)
    const wanted = wordsOf(String(shown))
    if (wanted.length === 0) continue
    const changedAt = new Date(0).toISOString()
    const { text } = pageMarkdown(outcome.html, { url: `https://${customDomain}${at}`, changedAt })
    const held = wordsOf(textOf(text))
    const share = commonInOrder(wanted, held) / wanted.length
    shares.push({ share, words: wanted.length })
    if (share < 1) {
      console.log(`${share.toFixed(4)}  ${String(wanted.length).padStart(5)}  ${name} ${at}`)
      if (values.words) console.log(`    missing: ${surplus(wanted, held)}`)
    }
  }
  await site.close()
}
const mean = shares.reduce((sum, { share }) => sum + share, 0) / shares.length
const enough = shares.filter(({ share }) => share >= AIM).length
console.log(`${shares.length} pages: ${enough} hold at least ${AIM} of the words; mean ${mean.toFixed(4)}`)
await close()

/** Without front matter, link targets and escapes. */
function textOf(markdown: string): string {
  return markdown
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)/g, ']')
    .replace(/\\/g, '')
}

/** The length of the longest common subsequence. */
function commonInOrder(a: readonly string[], b: readonly string[]): number {
  let row = new Uint32Array(b.length + 1)
  for (const word of a) {
    const next = new Uint32Array(b.length + 1)
    for (let at = 0; at < b.length; at++) {
      next[at + 1] = word === b[at] ? row[at]! + 1 : Math.max(row[at + 1]!, next[at]!)
    }
    row = next
  }
  return row[b.length]!
}
