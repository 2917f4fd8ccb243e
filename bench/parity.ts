/**
 * `node bench/parity.ts [--sites shop,swagger-ui,...,corpus] [--pages 4] [--at-once 4] [--wait-ms 8000] [--words]`
 * Compares the snapshot's words with those in an ordinary browser (Dice; 1 is the same text), and says which share of
 * the words that a person sees there the snapshot holds. Default: all applications and test/render. Lists corpus pages
 * only below 1. `--words` prints the difference. Exits with status 1 if a page of an application holds less than 0.995.
 */
import { parseArgs } from 'node:util'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { textOf } from '@prepaint/contract/reading/page-reader.ts'
import { openCorpus } from './corpus-site.ts'
import { machineLine } from './figures.ts'
import { openSite } from './sites.ts'
import { countsOf, startWordComparison, surplus, wordsOf } from './word-comparison.ts'

const LEAST_SEEN = 0.995
const { values } = parseArgs({
  options: {
    sites: { type: 'string' },
    pages: { type: 'string', default: '4' },
    'at-once': { type: 'string', default: '4' },
    'wait-ms': { type: 'string', default: '8000' },
    words: { type: 'boolean', default: false },
  },
})
const { sites, renderer, gateway, plain, close } = await startWordComparison(values.sites)

console.log(machineLine())
console.log('similarity  of what is seen  words (snapshot, plain, seen)  page')
for (const name of sites) {
  const isCorpus = name === 'corpus'
  const site = isCorpus ? await openCorpus() : await openSite(name)
  const paths = 'pages' in site ? site.pages.map((one) => one.path) : pathsOf(site)
  const customDomain = `${name}.example` as DomainName
  const proxy = await gateway.openSite({ customDomain, originUrl: site.originUrl })
  const found: number[] = []

  const compare = async (at: string) => {
    const { outcome } = await renderer.render({
      customDomain,
      originUrl: site.originUrl,
      path: at as PagePath,
      signal: new AbortController().signal,
    })
    const ours = wordsOf(outcome.kind === 'rendered' ? textOf(outcome.html) : '')
    const shown = await plain.text(`https://${customDomain}${at}`, proxy, Number(values['wait-ms']))
    const theirs = wordsOf(shown?.text ?? '')
    const seen = wordsOf(shown?.seen ?? '')
    const score = similarity(ours, theirs)
    const held = seen.length === 0 ? 1 : inBoth(seen, ours) / seen.length
    found.push(score)
    if (isCorpus && score === 1) return
    if (!isCorpus && held < LEAST_SEEN) process.exitCode = 1
    const counts = `${ours.length}, ${theirs.length}, ${seen.length}`
    const figures = `${score.toFixed(4).padStart(10)}  ${held.toFixed(4).padStart(15)}  ${counts.padEnd(29)}`
    console.log(`${figures}  ${name} ${at} (${outcome.kind})`)
    if (values.words && held < 1) console.log(`    seen, not in the snapshot: ${surplus(seen, ours)}`)
    if (values.words && score < 1) {
      console.log(`    only in the snapshot: ${surplus(ours, theirs)}`)
      console.log(`    only in the plain load: ${surplus(theirs, ours)}`)
    }
  }
  const queue = [...paths]
  const work = async () => {
    for (let at = queue.shift(); at !== undefined; at = queue.shift()) await compare(at)
  }
  await Promise.all(Array.from({ length: Number(values['at-once']) }, work))
  if (isCorpus) {
    const same = found.filter((score) => score === 1).length
    const mean = found.reduce((sum, score) => sum + score, 0) / found.length
    console.log(`corpus: ${same} of ${found.length} pages have the same text; mean ${mean.toFixed(4)}`)
  }
  await proxy.close()
  await site.close()
}
await close()

function pathsOf(site: Awaited<ReturnType<typeof openSite>>): string[] {
  const all = Array.from(
    { length: Number(values.pages) },
    (_, at) => site.page(at).path.split('?visit=')[0] ?? '/',
  )
  return [...new Set(all)]
}

/** Sørensen–Dice over multisets of words; 1 for two empty texts. */
function similarity(a: readonly string[], b: readonly string[]): number {
  const all = a.length + b.length
  return all === 0 ? 1 : (2 * inBoth(a, b)) / all
}

function inBoth(a: readonly string[], b: readonly string[]): number {
  const counts = countsOf(a)
  let both = 0
  for (const [word, count] of countsOf(b)) both += Math.min(count, counts.get(word) ?? 0)
  return both
}
