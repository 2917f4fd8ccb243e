import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import { until } from '../../../../test/support/condition.ts'
import { openEdge, PERSON } from '../../../../test/support/edge.ts'
import { installedPeer } from '../../../../test/support/installed-peer.ts'
import { openSocket } from '../../../../test/support/loopback.ts'
import { sitemapFile, URLS_A_FILE } from './sitemap.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

let batches = 0
const edge = await openEdge({
  queries: ({ name }) => {
    if (name === 'sitemap-batch') batches++
  },
})
await edge.settings({ sitemap: 'generate' })
beforeEach(() => edge.pool.query('delete from page_fact'))

/** `path`: SQL of the number `n`. */
const list = (count: number, path: string) =>
  edge.pool.query(
    `insert into page_fact (domain_id, path, text_hash, changed_at, rendered_at, is_listed)
     select $1, ${path}, '', $3, $3, true from generate_series(1, $2::int) n`,
    [edge.red, count, new Date(edge.nowMs())],
  )

describe('a generated sitemap', () => {
  it('is valid by the schema of sitemaps.org, whatever is in the paths', async () => {
    const peer = installedPeer('sitemap-schema')
    const { validateXML } = peer.require('xmllint-wasm') as {
      validateXML(given: object): Promise<{ errors: { message: string }[] }>
    }
    const schema = readFileSync(path.join(peer.folderOf('sitemap'), 'schema/sitemap.xsd'), 'utf8')
    // Stored paths are normalised: all but the characters of a URL is encoded.
    await list(3_000, `'/p' || n || '?a=%22%3C&b=''(~!*);:@,$+&&c=%5B%7C%E2%82%AC' || repeat('x', n % 1900)`)
    const xml = String((await edge.ask('/sitemap.xml')).body)
    const errorsOf = async (contents: string) =>
      (await validateXML({ xml: { fileName: 'sitemap.xml', contents }, schema: [schema] })).errors
    assert.deepEqual(await errorsOf(xml), [])
    assert.equal(xml.split('<loc>').length, 3_001)
    assert.notDeepEqual(await errorsOf(xml.replace(/<lastmod>[^<]*/, '<lastmod>today')), [])
  })

  it('holds no connection for a reader that takes nothing', async (t) => {
    const pages = 12_000
    await list(pages, `'/p' || n || repeat('x', 1900)`)
    batches = 0
    const slow = openSocket(t, edge.port).pause()
    slow.write(`GET /sitemap.xml HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\n\r\n`)
    await until('the sitemap is begun', async () => batches > 0)
    const quick = await edge.ask('/sitemap.xml')
    assert.equal(String(quick.body).split('<loc>').length, pages + 1)
    const whole = pages / 1_000
    assert(batches < 2 * whole, `the other one was read to its end: ${batches} batches`)
    await until('no connection is in use', () => edge.pool.totalCount === edge.pool.idleCount)
    assert(batches < 2 * whole)
  })

  it('of 200,000 pages takes no more memory than one of few', async () => {
    for (let from = 0; from < 200_000; from += 50_000)
      await list(50_000, `'/products/item-' || lpad((n + ${from})::text, 7, '0')`)
    const open = { redirects: null, robots: null, rules: new RuleBook([]) }
    const site = { ...open, id: edge.red, name: 'red.example', sinceMs: 0 }
    let [urls, least, growth] = [0, Number.POSITIVE_INFINITY, 0]
    const measure = () => {
      collect()
      const { heapUsed, external } = process.memoryUsage()
      // Only growth counts: what earlier tests left may be freed meanwhile.
      least = Math.min(least, heapUsed + external)
      growth = Math.max(growth, heapUsed + external - least)
    }
    for (let file = 0; file < 200_000 / URLS_A_FILE; file++) {
      for await (const piece of (await sitemapFile(edge.pool, site, file)) ?? []) {
        // With the first and the last pages of a file in hand.
        if (urls % URLS_A_FILE === 0) measure()
        urls += piece.split('<loc>').length - 1
        if (urls % URLS_A_FILE === 0) measure()
      }
    }
    assert.equal(urls, 200_000)
    assert(growth < 4 * 1_048_576, `${growth} bytes more than ${least}`)
  })
})
