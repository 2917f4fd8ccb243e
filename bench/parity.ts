/**
 * `node bench/parity.ts [--sites shop,swagger-ui,...,corpus] [--pages 4] [--at-once 4] [--words]`
 * Compares the snapshot's words with those in an ordinary browser (Dice; 1 is the same text). Default: all of
 * test/apps and test/render. Lists corpus pages only below 1. `--words` prints the difference.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

import ipaddr from 'ipaddr.js'

import { systemClock } from '../src/clock.ts'
import { startGateway } from '../src/gateway/gateway.ts'
import type { DomainName, PagePath } from '../src/ids.ts'
import { silentLog } from '../src/log.ts'
import { findBrowser } from '../src/render/browser/browser-binary.ts'
import { startRenderer } from '../src/render/renderer.ts'
import { pageText } from '../src/render/visit/page-text.ts'
import { openCatalogue } from '../test/apps/catalogue.ts'
import { openCorpus } from './corpus-site.ts'
import { machineLine } from './figures.ts'
import { startOrdinaryBrowser } from './ordinary-browser.ts'
import { openSite } from './sites.ts'

const WAIT_MS = 8_000
const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-parity-'))
// As root, the browser runs as another user, who must be able to enter this directory.
await chmod(dir, 0o711)
const { values } = parseArgs({
  options: {
    sites: { type: 'string' },
    pages: { type: 'string', default: '4' },
    'at-once': { type: 'string', default: '4' },
    words: { type: 'boolean', default: false },
  },
})
const names = values.sites?.split(',') ?? [
  'shop',
  ...(await openCatalogue(dir)).map(({ name }) => name),
  'corpus',
]

const log = silentLog()
const loopback = [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }] as const
const openGateway = () => startGateway({ allowed: loopback, log })
const common = { chromium: null, dataDir: dir, requireSandbox: false, log }
const renderer = await startRenderer({
  ...common,
  identity: 'Prepaint/0.0.0-test',
  slots: 1,
  timeoutMs: 20_000,
  openGateway,
  clock: systemClock,
})
const gateway = await openGateway()
const plain = await startOrdinaryBrowser(await findBrowser(common), gateway.spkiHash)

console.log(machineLine())
console.log('similarity  words (snapshot, plain)  page')
for (const name of names) {
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
    const ours = outcome.kind === 'rendered' ? pageText(outcome.html) : ''
    const theirs = (await plain.text(`https://${customDomain}${at}`, proxy.proxyUrl, WAIT_MS)) ?? ''
    const score = similarity(ours, theirs)
    found.push(score)
    if (isCorpus && score === 1) return
    const counts = `${words(ours).length}, ${words(theirs).length}`
    console.log(`${score.toFixed(4).padStart(10)}  ${counts.padEnd(23)}  ${name} ${at}`)
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
await renderer.close()
await plain.close()
await gateway.close()
await rm(dir, { recursive: true, force: true })

function pathsOf(site: Awaited<ReturnType<typeof openSite>>): string[] {
  const all = Array.from(
    { length: Number(values.pages) },
    (_, at) => site.page(at).path.split('?visit=')[0] ?? '/',
  )
  return [...new Set(all)]
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? []
}

function countsOf(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of words(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

function surplus(a: string, b: string): string {
  const counts = countsOf(b)
  return [...countsOf(a)]
    .filter(([word, count]) => count > (counts.get(word) ?? 0))
    .map(([word]) => word)
    .slice(0, 25)
    .join(' ')
}

/** Sørensen–Dice over multisets of words; 1 for two empty texts. */
function similarity(a: string, b: string): number {
  const counts = countsOf(a)
  let both = 0
  for (const [word, count] of countsOf(b)) both += Math.min(count, counts.get(word) ?? 0)
  const all = words(a).length + words(b).length
  return all === 0 ? 1 : (2 * both) / all
}
