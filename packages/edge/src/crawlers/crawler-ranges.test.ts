import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { createAddressGuard, createFetchText, type FetchText } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../test/support/condition.ts'
import { startTestSite } from '../../../../test/support/site.ts'
import { CrawlerRanges, RangesError } from './crawler-ranges.ts'

/** Publishes lists. */
const site = await startTestSite()
after(() => site.close())
const google = (prefix: string) => JSON.stringify({ prefixes: [{ ipv4Prefix: prefix }] })
const sources = (of: Record<string, string[]>) => ({ 'sources.json': JSON.stringify(of) })
const GPTBOT = sources({ gptbot: [`${site.origin}/`] })

type Options = { dir?: string | null; fetchText?: FetchText; retryAfterMs?: number }
/** Reads ranges from a directory with these files, or from `dir`. */
async function ranges(t: TestContext, files: Record<string, string>, options: Options = {}) {
  const written = await mkdtemp(path.join(tmpdir(), 'prepaint-ranges-'))
  t.after(() => rm(written, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(written, name), text)
  const { dir = written, fetchText = createFetchText(site.options.origins), retryAfterMs } = options
  const made = new CrawlerRanges(dir, fetchText, silentLog(), { retryAfterMs })
  t.after(() => made.close())
  const has = (owner: string, address: string) => made.rangesOf(owner)?.has(address)
  return {
    rangesOf: (owner: string) => made.rangesOf(owner),
    refresh: () => made.refresh(),
    has,
  }
}

describe('ranges of crawlers', () => {
  it('are read from several files of an owner, and there are none without a directory', async (t) => {
    const { rangesOf, has } = await ranges(t, {
      'googlebot.json': google('192.0.2.0/24'),
      'googlebot.special.json': google('198.51.100.0/24'),
      'gptbot.txt': '203.0.113.0/24',
      'README.md': 'notes of the operator',
    })
    assert(has('googlebot', '192.0.2.1') && has('googlebot', '198.51.100.1'))
    assert(!has('googlebot', '203.0.113.1'))
    assert.equal(has('gptbot', '203.0.113.1'), true)
    assert.equal(rangesOf('bingbot'), null)
    assert.equal((await ranges(t, {}, { dir: null })).rangesOf('googlebot'), null)
    await assert.rejects(ranges(t, {}, { dir: '/nonexistent' }), RangesError)
  })

  it('are fetched from URLs; an owner has none until all of its URLs were fetched, and failed ones are soon fetched again', async (t) => {
    const [one, two] = [`${site.origin}/one`, `${site.origin}/two`]
    const files = sources({ googlebot: [one, two], bingbot: [one] })
    site.answers['/one'] = google('192.0.2.0/24')
    const { rangesOf, has, refresh } = await ranges(t, files, { retryAfterMs: 20 })
    assert.equal(rangesOf('bingbot'), null)
    await refresh()
    assert.equal(has('bingbot', '192.0.2.1'), true)
    assert.equal(rangesOf('googlebot'), null)
    site.answers['/one'] = google('203.0.113.0/24')
    site.answers['/two'] = google('198.51.100.0/24')
    await until('the late ones', () => has('googlebot', '198.51.100.1') === true)
    assert.equal(has('bingbot', '192.0.2.1'), true)
  })

  it('stay as they were while a URL fails or returns nonsense, and are replaced afterwards', async (t) => {
    site.answers['/'] = google('192.0.2.0/24')
    const { has, refresh } = await ranges(t, GPTBOT)
    await refresh()
    for (const bad of [{ status: 404 }, '<html>', '#'.repeat(1024 * 1024 + 1)]) {
      site.answers['/'] = bad
      await refresh()
      assert.equal(has('gptbot', '192.0.2.1'), true)
    }
    site.answers['/'] = google('198.51.100.0/24')
    await refresh()
    assert.deepEqual([has('gptbot', '192.0.2.1'), has('gptbot', '198.51.100.1')], [false, true])
  })

  it('are not fetched from addresses that are not public', async (t) => {
    site.answers['/'] = google('192.0.2.0/24')
    site.asked.length = 0
    const fetchText = createFetchText(createClient(createAddressGuard([])))
    const { rangesOf, refresh } = await ranges(t, GPTBOT, { fetchText })
    await refresh()
    assert.equal(rangesOf('gptbot'), null)
    assert.deepEqual(site.asked, [])
  })

  it('are fetched again after a day', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const fetchText = t.mock.fn(async () => '')
    await ranges(t, GPTBOT, { fetchText })
    t.mock.timers.tick(86_400_000)
    assert.equal(fetchText.mock.callCount(), 1)
  })

  it('stop the startup with the file and the reason if they are invalid', async (t) => {
    const many = Array(11).fill('https://a.example/')
    const refused: [files: Record<string, string>, why: RegExp][] = [
      [{ 'google.json': google('192.0.2.0/24') }, /google\.json: no crawler is called "google"; known are /],
      [{ 'gptbot.json': '{}' }, /gptbot\.json: has no ranges/],
      [sources({ openai: [] }), /no crawler is called "openai"/],
      [sources({ gptbot: ['file:///etc/passwd'] }), /sources\.json: .*URL/s],
      [sources({ gptbot: many }), /sources\.json: /],
    ]
    for (const [files, message] of refused)
      await assert.rejects(ranges(t, files), { name: 'RangesError', message })
  })
})
