/**
 * `node bench/markdown-words.ts [--sites swagger-ui,...,corpus] [--words]`
 * How much of a page's main content its Markdown holds, ours and that of other converters (test/peers/markdown): words in
 * order (longest common subsequence), tables and code blocks, against what the same snapshot shows in an ordinary browser.
 * Default: all of test/apps and test/render, and docs/. Lists pages below 1, and pages that are left out, with the reason.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { pageMarkdown } from '../packages/pages/src/forms/markdown.ts'
import { installedPeer } from '../test/support/installed-peer.ts'
import { openCorpus } from './corpus-site.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { openSite } from './sites.ts'
import { startWordComparison, surplus, wordsOf } from './word-comparison.ts'

const AIM = 0.98
const { values } = parseArgs({
  options: { sites: { type: 'string' }, words: { type: 'boolean', default: false } },
})
const { sites, renderer, plain, close } = await startWordComparison(values.sites)

/** Runs in the page: what is shown of the main content, shadow roots flattened. Tables of one row or column only arrange. */
const SHOWN_CONTENT = `(() => {
  const left = 'nav,dialog,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search],[role=dialog],[role=alertdialog]'
  const noText = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'SELECT', 'TEXTAREA', 'CANVAS', 'SVG', 'MATH'])
  const [parts, tables, codes] = [[], [], []]
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
    if (node.matches('pre') && node.textContent.trim()) codes.push(node.textContent)
    const isTable = node.matches('table:not([role=presentation], [role=none])') && !node.querySelector('table,h1,h2,h3,h4,h5,h6')
    if (isTable && node.rows.length > 1 && node.rows[0].cells.length > 1) tables.push(node.innerText)
    const isBlock = !display.startsWith('inline') && display !== 'contents'
    if (isBlock || node.tagName === 'BR') parts.push(' ')
    const slotted = node instanceof HTMLSlotElement ? node.assignedNodes() : []
    for (const child of slotted.length > 0 ? slotted : (node.shadowRoot ?? node).childNodes) walk(child)
    if (isBlock) parts.push(' ')
  }
  const found = [...document.querySelectorAll('main,[role=main]')].filter((each) => each.checkVisibility())
  const outermost = found.filter((each) => !found.some((other) => other !== each && other.contains(each)))
  if (outermost.some((each) => each.textContent.trim() || each.querySelector('img'))) mains = outermost
  for (const top of mains.length > 0 ? mains : [document.body]) walk(top)
  return JSON.stringify({ text: parts.join(''), tables, codes })
})()`

type Shown = { text: string; tables: string[]; codes: string[] }
type Convert = (html: string, url: string) => string
type Result = { held: number; ofOurs: number; tables: number; codes: number; ms: number }

const converters: Record<string, Convert> = {
  Prepaint: (html, url) =>
    pageMarkdown(html, readPage(html, url), { url, modified: new Date(0).toISOString() }),
  ...otherConverters(),
}
const leftOut: string[] = []
const results = new Map(Object.keys(converters).map((name) => [name, [] as Result[]]))
let [tables, codes] = [0, 0]

console.log(machineLine())
console.log('share   words  page')
for (const name of [...sites, ...(values.sites === undefined ? ['documents'] : [])]) {
  for await (const { at, html } of name === 'documents' ? documents() : rendered(name)) {
    const told = await plain.evaluate(html, SHOWN_CONTENT)
    const shown: Shown | null = typeof told === 'string' ? JSON.parse(told) : null
    const wanted = wordsOf(shown?.text ?? '')
    if (shown === null || wanted.length === 0) {
      leftOut.push(`${name} ${at}: ${shown === null ? 'its elements hide DOM methods' : 'shows no words'}`)
      continue
    }
    tables += shown.tables.length
    codes += shown.codes.length
    for (const [converter, convert] of Object.entries(converters)) {
      const { ms, text } = timed(() => convert(html, `https://${name}.example${at}`))
      const words = wordsOf(textOf(text))
      const common = commonInOrder(wanted, words)
      const held = common / wanted.length
      const [ofTables, ofCodes] = [tablesHeld(text, shown.tables), codesHeld(text, shown.codes)]
      const ofOurs = words.length === 0 ? 0 : common / words.length
      results.get(converter)!.push({ held, ofOurs, tables: ofTables, codes: ofCodes, ms })
      if (converter !== 'Prepaint' || held === 1) continue
      console.log(`${held.toFixed(4)}  ${String(wanted.length).padStart(5)}  ${name} ${at}`)
      if (values.words) console.log(`    missing: ${surplus(wanted, words)}`)
    }
  }
}

const headings = [
  `pages: at least ${AIM} of the words`,
  'mean',
  'words that are content',
  'tables',
  'code blocks',
]
const rows = [...results].map(([name, all]) => {
  const mean = (of: keyof Result) => (all.reduce((sum, one) => sum + one[of], 0) / all.length).toFixed(3)
  const sum = (of: keyof Result) => all.reduce((total, one) => total + one[of], 0)
  const times = all.map(({ ms }) => ms)
  return [
    ...[
      name,
      `${all.filter(({ held }) => held >= AIM).length} of ${all.length}`,
      mean('held'),
      mean('ofOurs'),
    ],
    ...[`${sum('tables')} of ${tables}`, `${sum('codes')} of ${codes}`],
    ...[median(times).toFixed(1), Math.max(...times).toFixed(0)],
  ]
})
console.log(markdownTable(['converter', ...headings, 'ms a page', 'slowest'], rows))
console.log([`${leftOut.length} pages are left out`, ...leftOut].join('\n'))
await close()

/** On a busy machine a render can take longer than its limit: it has three tries. */
async function* rendered(name: string): AsyncGenerator<{ at: string; html: string }> {
  const site = name === 'corpus' ? await openCorpus() : await openSite(name)
  const paths =
    'pages' in site ? site.pages.map((one) => one.path) : [site.page(0).path.split('?visit=')[0] ?? '/']
  const customDomain = `${name}.example` as DomainName
  for (const at of paths) {
    const request = { customDomain, originUrl: site.originUrl, path: at as PagePath }
    const kinds: string[] = []
    while (kinds.length < 3 && kinds.at(-1) !== 'rendered') {
      const { outcome } = await renderer.render({ ...request, signal: new AbortController().signal })
      kinds.push(outcome.kind)
      if (outcome.kind === 'rendered') yield { at, html: outcome.html }
    }
    if (kinds.at(-1) !== 'rendered') leftOut.push(`${name} ${at}: ${kinds.join(', ')}`)
  }
  await site.close()
}

/** Our own documents as HTML: tables and code. */
async function* documents(): AsyncGenerator<{ at: string; html: string }> {
  const folder = path.resolve(import.meta.dirname, '../docs')
  const { marked } = installedPeer('markdown').require('marked') as {
    marked: { parse(text: string): string }
  }
  for (const at of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!at.endsWith('.md')) continue
    const body = marked.parse(readFileSync(path.join(folder, at), 'utf8'))
    yield { at, html: `<!doctype html><nav>Documents</nav><main>${body}</main>` }
  }
}

/** As their documents say, for whole pages; what is no text is removed. */
function otherConverters(): Record<string, Convert> {
  const { require } = installedPeer('markdown')
  const Turndown = require('turndown') as new (
    options: object,
  ) => { use(plugin: unknown): { remove(names: string[]): { turndown(html: string): string } } }
  const { gfm } = require('turndown-plugin-gfm') as { gfm: unknown }
  const { NodeHtmlMarkdown } = require('node-html-markdown') as {
    NodeHtmlMarkdown: { translate(html: string, options: object): string }
  }
  const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced' })
    .use(gfm)
    .remove(['script', 'style', 'title', 'noscript', 'template'])
  return {
    'turndown, GFM': (html) => turndown.turndown(html),
    'node-html-markdown': (html) => NodeHtmlMarkdown.translate(html, {}),
  }
}

/** The least of three, unless it takes long. */
function timed(convert: () => string): { ms: number; text: string } {
  let [ms, text] = [Number.POSITIVE_INFINITY, '']
  for (let turn = 0; turn < 3 && (turn === 0 || ms < 1_000); turn++) {
    const startMs = performance.now()
    text = convert()
    ms = Math.min(ms, performance.now() - startMs)
  }
  return { ms, text }
}

/** How many are tables with the same words. */
function tablesHeld(markdown: string, wanted: readonly string[]): number {
  const found = markdown.match(/(?:^[ \t]*\|.*\|[ \t]*$\n?)+/gm) ?? []
  const texts = new Set(
    found
      .filter((one) => /^[ \t]*\|[\s|:-]+\|[ \t]*$/m.test(one))
      .map((one) => wordsOf(textOf(one)).join(' ')),
  )
  return wanted.filter((one) => texts.has(wordsOf(one).join(' '))).length
}

/** How many are fences with the same lines. */
function codesHeld(markdown: string, wanted: readonly string[]): number {
  const linesOf = (text: string) => {
    const lines = text.replace(/^\n+|\s+$/g, '').split('\n')
    return lines.map((line) => line.trimEnd()).join('\n')
  }
  const fences = [...markdown.matchAll(/^([ \t]*)(```+|~~~+)[^\n]*\n([\s\S]*?)^[ \t]*\2[ \t]*$/gm)].map(
    ([, indent = '', , text = '']) => linesOf(text.replaceAll(`\n${indent}`, '\n').replace(indent, '')),
  )
  const texts = new Set(fences)
  return wanted.filter((one) => texts.has(linesOf(one))).length
}

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
