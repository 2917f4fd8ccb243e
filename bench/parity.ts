/**
 * Whether crawlers read what people see: the text of our snapshot against the
 * text of the same page in the same browser without any of our arrangements:
 * real time, five seconds after the load, nothing of ours in the page.
 *
 *   node bench/parity.ts [--sites shop,swagger-ui,...] [--pages 4]
 *
 * Prints for each page how many words of the two texts agree (Dice, of words
 * counted as often as they stand): 1 is the same text. All applications of
 * test/apps by default.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import ipaddr from 'ipaddr.js'

import { systemClock } from '../src/clock.ts'
import { startGateway } from '../src/gateway/gateway.ts'
import type { DomainName, PagePath } from '../src/ids.ts'
import { silentLog } from '../src/log.ts'
import { findBrowser } from '../src/render/browser-binary.ts'
import { launchBrowser } from '../src/render/browser-process.ts'
import { PAGE_LIMITS } from '../src/render/page-limits.ts'
import { pageText } from '../src/render/page-text.ts'
import { startRenderer } from '../src/render/renderer.ts'
import { takeSnapshot } from '../src/render/snapshot.ts'
import { openCatalogue } from '../test/apps/catalogue.ts'
import { machineLine } from './figures.ts'
import { openSite } from './sites.ts'

const WAIT_MS = 5_000
const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-parity-'))
// As root the browser is another user, who must be able to pass.
await chmod(dir, 0o711)
const { values } = parseArgs({
  options: { sites: { type: 'string' }, pages: { type: 'string', default: '4' } },
})
const names = values.sites?.split(',') ?? ['shop', ...(await openCatalogue(dir)).map(({ name }) => name)]

const log = silentLog()
const loopback = [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }] as const
const openGateway = () => startGateway({ allowed: loopback, log })
const common = { chromium: null, dataDir: dir, requireSandbox: false, log }
const renderer = await startRenderer({
  identity: 'Prepaint/0.0.0-test',
  ...common,
  slots: 1,
  timeoutMs: 20_000,
  openGateway,
  clock: systemClock,
})
const gateway = await openGateway()
const plain = await launchBrowser({
  ...common,
  binary: await findBrowser(common),
  spkiHash: gateway.spkiHash,
  pageMemoryBytes: PAGE_LIMITS.memoryBytes,
})

console.log(machineLine())
console.log('similarity  words (snapshot, plain)  page')
for (const name of names) {
  const site = await openSite(name)
  const customDomain = `${name}.example` as DomainName
  const proxy = await gateway.openSite({ customDomain, originUrl: site.originUrl })
  const paths = new Set(
    Array.from({ length: Number(values.pages) }, (_, at) => site.page(at).path.split('?visit=')[0]!),
  )
  for (const at of paths) {
    const never = new AbortController().signal
    const { outcome } = await renderer.render({
      customDomain,
      originUrl: site.originUrl,
      path: at as PagePath,
      signal: never,
    })
    const ours = outcome.kind === 'rendered' ? pageText(outcome.html) : ''
    const theirs = await plainText(`https://${customDomain}${at}`, proxy.proxyUrl)
    const counts = `${words(ours).length}, ${words(theirs).length}`
    console.log(`${similarity(ours, theirs).toFixed(4).padStart(10)}  ${counts.padEnd(23)}  ${name} ${at}`)
  }
  await proxy.close()
  await site.close()
}
await renderer.close()
await plain.kill('done')
await gateway.close()
await rm(dir, { recursive: true, force: true })

/** As somebody sees it who opens the page and waits. */
async function plainText(url: string, proxyServer: string): Promise<string> {
  const { browser } = plain.cdp
  const { browserContextId } = await browser.send('Target.createBrowserContext', {
    proxyServer,
    proxyBypassList: '<-loopback>',
  })
  const { targetId } = await browser.send('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
    width: 1280,
    height: 1024,
  })
  const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = plain.cdp.session(sessionId)
  await session.send('Page.enable')
  await session.send('Page.navigate', { url })
  await delay(WAIT_MS)
  const snapshot = await takeSnapshot(session, targetId, PAGE_LIMITS)
  await browser.send('Target.disposeBrowserContext', { browserContextId })
  return snapshot.kind === 'html' ? pageText(snapshot.html) : ''
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Sørensen and Dice over multisets of words; 1 for two empty texts. */
function similarity(a: string, b: string): number {
  const counts = new Map<string, number>()
  for (const word of words(a)) counts.set(word, (counts.get(word) ?? 0) + 1)
  let both = 0
  for (const word of words(b)) {
    const left = counts.get(word) ?? 0
    if (left > 0) both++
    counts.set(word, left - 1)
  }
  const all = words(a).length + words(b).length
  return all === 0 ? 1 : (2 * both) / all
}
