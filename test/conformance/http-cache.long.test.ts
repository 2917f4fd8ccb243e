import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { before, describe, it } from 'node:test'

import { type CacheResult, type CacheTest, cacheTests, runCacheTests } from './http-cache-run.ts'

const document = readFileSync(path.resolve(import.meta.dirname, '../../docs/http-cache-tests.md'), 'utf8')

for (const as of ['person', 'crawler'] as const) {
  describe(`http-cache-tests as a ${as}`, () => {
    const [, section = ''] = new RegExp(`## As a ${as}\n([^]*?)(?=\n## |$)`).exec(document) ?? []
    const recorded = [...section.matchAll(/```text\n([^`]*)```/g)].flatMap(([, ids = '']) => ids.split(/\s+/))
    const exceptions = recorded.filter((id) => id !== '').sort()
    let tests: Map<string, CacheTest>
    let results: Map<string, CacheResult>

    before(async () => {
      tests = new Map((await cacheTests()).map((test) => [test.id, test]))
      results = await runCacheTests(as)
    })

    it('ran all of them, and the document lists each exception once', () => {
      assert(results.size > 300)
      assert.deepEqual([...results.keys()].sort(), [...tests.keys()].sort())
      assert.equal(new Set(exceptions).size, exceptions.length)
    })

    // Proves decided "Conditional and range requests"
    it('holds but for the exceptions in docs/http-cache-tests.md', () => {
      const failed = [...results].filter(([, result]) => result !== true)
      const unlisted = failed.filter(([id]) => !exceptions.includes(id)).map(([id, why]) => `${id}: ${why}`)
      assert.deepEqual(unlisted, [], 'no longer holds')
      const held = exceptions.filter((id) => results.get(id) === true)
      assert.deepEqual(held, [], 'holds now: take it off the list')
      assert.equal(exceptions.length, failed.length)
    })

    it('is counted as the document says', () => {
      const count = (kind: string) => {
        const own = [...tests.values()].filter((test) => (test.kind ?? 'required') === kind)
        return `${own.filter(({ id }) => results.get(id) === true).length} of ${own.length}`
      }
      const held = [...results.values()].filter((result) => result === true).length
      const line = `${held} of ${results.size} hold: ${count('required')} required, ${count('optimal')} optimal, ${count('check')} checks.`
      assert(section.includes(line), line)
    })
  })
}
