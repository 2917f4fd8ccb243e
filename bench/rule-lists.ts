/**
 * `node bench/rule-lists.ts [--sites shop,...,corpus]`
 * What a rule with all block lists and the removal of consent banners saves in requests and time, and which words pages
 * lose by it. Each page is rendered with and without it, by turns. Default: all of test/apps and test/render.
 */
import { parseArgs } from 'node:util'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { pageText } from '@prepaint/contract/reading/page-text.ts'
import { BLOCK_LISTS } from '@prepaint/contract/rules/schema.ts'
import { openCorpus } from './corpus-site.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { openSite } from './sites.ts'
import { EMBEDDED_WORDS, openThirdParties } from './third-parties.ts'
import { startWordComparison, surplus, wordsOf } from './word-comparison.ts'

const ROUNDS = 5
const RULE = { rule: { index: 0, change: { consent: true } }, block: BLOCK_LISTS }

const { values } = parseArgs({ options: { sites: { type: 'string' } } })
const thirdParties = await openThirdParties()
const { sites, renderer, close } = await startWordComparison(values.sites, thirdParties)

async function rendered(site: { originUrl: string }, name: string, at: string, rule: Partial<typeof RULE>) {
  const customDomain = `${name}.example` as DomainName
  const request = { customDomain, originUrl: site.originUrl, path: at as PagePath, ...rule }
  const { outcome, record } = await renderer.render({ ...request, signal: new AbortController().signal })
  if (outcome.kind !== 'rendered' || record === null) return null
  const { made, blocked } = record.requests
  const { tab, snapshot } = record.phases
  const words = wordsOf(pageText((outcome.changed ?? outcome).html)).filter(
    (word) => !EMBEDDED_WORDS.has(word),
  )
  return { words, requests: made - blocked, ms: (snapshot ?? 0) - (tab ?? 0) }
}

/** By turns; the first round opens a browser context for each, and is left out. */
async function compared(site: { originUrl: string }, name: string, at: string, rounds: number) {
  const both = { without: [] as number[], with: [] as number[] }
  for (let round = 0; ; round++) {
    const without = await rendered(site, name, at, {})
    const ruled = await rendered(site, name, at, RULE)
    if (without === null || ruled === null) return null
    if (round > 0 || rounds === 1) {
      both.without.push(without.ms)
      both.with.push(ruled.ms)
    }
    if (round + 1 < rounds) continue
    const lost = surplus(without.words, ruled.words)
    return {
      requests: [without.requests, ruled.requests] as const,
      ms: [median(both.without), median(both.with)] as const,
      lost,
    }
  }
}

console.log(machineLine())
const rows: string[][] = []
for (const at of thirdParties.paths) {
  const found = await compared(thirdParties, 'third-parties', at, ROUNDS)
  if (found === null) throw new Error(`${at} was not rendered`)
  const { requests, ms, lost } = found
  rows.push([
    at,
    ...[...requests, ...ms].map((one) => `${Math.round(one)}`),
    (ms[1] / ms[0]).toFixed(2),
    lost || 'none',
  ])
}
const heading = ['page', 'requests without', 'with', 'ms without', 'with', 'times', 'content lost']
console.log(markdownTable(heading, rows))

let [pages, less, losing] = [0, 0, 0]
const times: number[] = []
for (const name of sites) {
  const site = name === 'corpus' ? await openCorpus() : await openSite(name)
  const paths =
    'pages' in site ? site.pages.map((one) => one.path) : [site.page(0).path.split('?visit=')[0] ?? '/']
  for (const at of paths) {
    let found = await compared(site, name, at, 1)
    // Some pages show the time, or another text at each visit.
    if (found !== null && found.lost !== '') found = await compared(site, name, at, 1)
    if (found === null) continue
    pages++
    less += found.requests[0] - found.requests[1]
    times.push(found.ms[1] / found.ms[0])
    if (found.lost === '') continue
    losing++
    console.log(`${name} ${at} lost: ${found.lost}`)
  }
  await site.close()
}
console.log(
  `${pages} other pages: ${losing} lost words, ${less} requests fewer, ${median(times).toFixed(2)} times as long`,
)
await close()
thirdParties.close()
