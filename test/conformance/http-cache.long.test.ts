import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'

import recorded from './http-cache-exceptions.json' with { type: 'json' }
import { type CacheResult, type CacheTest, cacheTests, runCacheTests } from './http-cache-run.ts'

for (const as of ['person', 'crawler'] as const) {
  describe(`http-cache-tests as a ${as}`, () => {
    // By reason. The suite tests caches that keep the origin's responses; we pass them (person) or store snapshots (crawler).
    // A name that ends with `*` is every test whose name begins so.
    let exceptions: string[]
    let tests: Map<string, CacheTest>
    let results: Map<string, CacheResult>

    before(async () => {
      tests = new Map((await cacheTests()).map((test) => [test.id, test]))
      exceptions = Object.values<string[]>(recorded[as].exceptions).flatMap((list) =>
        list.flatMap((name) =>
          name.endsWith('*') ? [...tests.keys()].filter((id) => id.startsWith(name.slice(0, -1))) : name,
        ),
      )
      results = await runCacheTests(as)
    })

    it('ran all of them, and each exception is listed once', () => {
      assert(results.size > 300)
      assert.deepEqual([...results.keys()].sort(), [...tests.keys()].sort())
      assert.equal(new Set(exceptions).size, exceptions.length)
    })

    // Proves decided "Conditional and range requests"
    it('holds but for the listed exceptions', () => {
      const failed = [...results].filter(([, result]) => result !== true)
      const unlisted = failed.filter(([id]) => !exceptions.includes(id)).map(([id, why]) => `${id}: ${why}`)
      assert.deepEqual(unlisted, [], 'no longer holds')
      const held = exceptions.filter((id) => results.get(id) === true)
      assert.deepEqual(held, [], 'holds now: take it off the list')
      assert.equal(exceptions.length, failed.length)
    })

    it('is counted as recorded', () => {
      const count = (kind: string) => {
        const own = [...tests.values()].filter((test) => (test.kind ?? 'required') === kind)
        return `${own.filter(({ id }) => results.get(id) === true).length} of ${own.length}`
      }
      const held = [...results.values()].filter((result) => result === true).length
      const line = `${held} of ${results.size} hold: ${count('required')} required, ${count('optimal')} optimal, ${count('check')} checks.`
      assert.equal(recorded[as].held, line)
    })
  })
}
