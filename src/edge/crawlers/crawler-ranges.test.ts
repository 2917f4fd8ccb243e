import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import ipaddr from 'ipaddr.js'

import { until } from '../../../test/support/condition.ts'
import { serve } from '../../../test/support/loopback.ts'
import { silentLog } from '../../log.ts'
import { createAddressGuard } from '../../outbound/address-guard.ts'
import { createClient } from '../../outbound/client/pool.ts'
import { createFetchText } from '../../outbound/get.ts'
import { createCrawlerRanges, RangesError } from './crawler-ranges.ts'

const google = (prefix: string) => JSON.stringify({ prefixes: [{ ipv4Prefix: prefix }] })

const gptbotFrom = ({ url }: { url: string }) => ({ 'sources.json': JSON.stringify({ gptbot: [`${url}/`] }) })

describe('ranges of crawlers', () => {
  it('come from files, several for one owner; without a directory there are none', async (t) => {
    const { rangesOf } = await ranges(t, {
      'googlebot.json': google('192.0.2.0/24'),
      'googlebot.special.json': google('198.51.100.0/24'),
      'gptbot.txt': '203.0.113.0/24',
      'README.md': 'notes of the operator',
    })
    const asked = ['192.0.2.1', '198.51.100.1', '203.0.113.1']
    const found = asked.map((address) => rangesOf('googlebot')?.has(address))
    assert.deepEqual(found, [true, true, false])
    assert.equal(rangesOf('gptbot')?.has('203.0.113.1'), true)
    assert.equal(rangesOf('bingbot'), null)
    assert.equal((await ranges(t, null)).rangesOf('googlebot'), null)
    const options = { dir: '/nonexistent', fetchText: async () => '', log: silentLog() }
    assert.throws(() => createCrawlerRanges(options), RangesError)
  })

  it('come from addresses, through the guard; until all of an owner came, none are believed', async (t) => {
    const site = await lists(t, { '/one': google('192.0.2.0/24') })
    const sources = { googlebot: [`${site.url}/one`, `${site.url}/two`], bingbot: [`${site.url}/one`] }
    const { rangesOf, refresh } = await ranges(t, { 'sources.json': JSON.stringify(sources) }, undefined, 20)
    assert.equal(rangesOf('bingbot'), null)
    await refresh()
    assert.equal(rangesOf('bingbot')?.has('192.0.2.1'), true)
    assert.equal(rangesOf('googlebot'), null)
    site.files['/one'] = google('203.0.113.0/24')
    site.files['/two'] = google('198.51.100.0/24')
    // What failed is fetched again soon, and nothing else.
    await until('the late ones', () => rangesOf('googlebot')?.has('198.51.100.1') === true)
    assert.equal(rangesOf('bingbot')?.has('192.0.2.1'), true)
  })

  it('stay as they were while an address fails or says nonsense, and follow it afterwards', async (t) => {
    const site = await lists(t, { '/': google('192.0.2.0/24') })
    const { rangesOf, refresh } = await ranges(t, gptbotFrom(site))
    await refresh()
    const long = '#'.repeat(1024 * 1024 + 1)
    for (const bad of [undefined, '<html>', long]) {
      site.files['/'] = bad
      await refresh()
      assert.equal(rangesOf('gptbot')?.has('192.0.2.1'), true)
    }
    site.files['/'] = google('198.51.100.0/24')
    await refresh()
    assert.equal(rangesOf('gptbot')?.has('192.0.2.1'), false)
    assert.equal(rangesOf('gptbot')?.has('198.51.100.1'), true)
  })

  it('are fetched again by themselves', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const site = await lists(t, { '/': google('192.0.2.0/24') })
    await ranges(t, gptbotFrom(site))
    const { promise, resolve } = Promise.withResolvers<void>()
    site.onRequest = resolve
    t.mock.timers.tick(86_400_000)
    await promise
  })

  it('the guard refuses addresses that are not public', async (t) => {
    const site = await lists(t, { '/': google('192.0.2.0/24') })
    const { rangesOf, refresh } = await ranges(t, gptbotFrom(site), [])
    await refresh()
    assert.equal(rangesOf('gptbot'), null)
    assert.equal(site.requests, 0)
  })

  const sources = (text: string) => ({ 'sources.json': text })
  const many = JSON.stringify({ gptbot: Array(11).fill('https://a.example/') })
  const unknown = /google\.json: no crawler is called "google"; known are googlebot, /
  const refused: [what: string, files: Record<string, string>, why: RegExp][] = [
    ['a file of no crawler', { 'google.json': google('192.0.2.0/24') }, unknown],
    ['a file that is no list', { 'gptbot.json': '{}' }, /gptbot\.json: has no ranges/],
    ['sources of no crawler', sources('{"openai": []}'), /no crawler is called "openai"/],
    ['sources that are no addresses', sources('{"gptbot": ["file:///etc/passwd"]}'), /sources\.json: .*URL/s],
    ['too many sources', sources(many), /sources\.json: /],
  ]
  for (const [what, files, why] of refused) {
    it(`stop the start: ${what}`, async (t) => {
      await assert.rejects(ranges(t, files), { name: 'RangesError', message: why })
    })
  }
})

async function ranges(
  t: TestContext,
  files: Record<string, string> | null,
  allowed = ['127.0.0.1/32'],
  retryAfterMs = 60_000,
) {
  const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-ranges-'))
  t.after(() => rm(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files ?? {})) await writeFile(path.join(dir, name), text)
  const guard = createAddressGuard(allowed.map((cidr) => ({ cidr: ipaddr.parseCIDR(cidr), port: null })))
  const origins = createClient(guard)
  t.after(() => origins.close())
  const made = createCrawlerRanges({
    dir: files === null ? null : dir,
    fetchText: createFetchText(origins),
    log: silentLog(),
    retryAfterMs,
  })
  t.after(() => made.close())
  return made
}

/** A site that publishes lists; what is undefined is not found. */
async function lists(t: TestContext, files: Record<string, string | undefined>) {
  const site = { url: '', files, requests: 0, onRequest: () => {} }
  const { url, close } = await serve((req, res) => {
    site.requests++
    site.onRequest()
    const text = site.files[req.url ?? '']
    res.writeHead(text === undefined ? 404 : 200).end(text ?? 'not found')
  })
  t.after(close)
  return Object.assign(site, { url })
}
