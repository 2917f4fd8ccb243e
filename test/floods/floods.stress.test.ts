/** Floods by one address against a whole node, beside gentle clients of another customer. Times are for `bench/floods.ts`. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { until } from '../support/condition.ts'
import type { AttackName } from './attacks.ts'
import { startFloodNode } from './flood-node.ts'
import { descriptorsOf, FloodOrigin, flood } from './flood-world.ts'

const SECONDS = 3
/** Late answers are no errors here, because the machine may be busy with other tests. */
const FAIL_AFTER_MS = 60_000
/** What a flood may take; without limits these took 270 to 1,900 MiB. */
const GROWN_LIMIT_BYTES = 150 * 2 ** 20
/** Connections that are kept for further calls end after a minute. */
const FREE_WITHIN_MS = 90_000

const origin = await FloodOrigin.start()
const node = await startFloodNode(origin.url)
const descriptorsBefore = descriptorsOf(node.pid)
after(async () => {
  await node.close()
  origin.close()
})

const CHEAP: readonly AttackName[] = [
  'cookie crumbs',
  'rapid reset of misses',
  'rapid reset of passed requests',
  'misses that the site answers slowly',
  'pipelined requests of people',
  'pings and settings',
  'endless uploads',
]

describe('beside a flood by one address', () => {
  for (const attack of CHEAP) {
    it(`${attack}: nobody else gets an error, stored pages are hits, and memory is bounded`, async (t) => {
      const { failed, verdicts, memory, sent } = await flood(node, origin, attack, {
        ...{ seconds: SECONDS, restSeconds: 0, failAfterMs: FAIL_AFTER_MS },
      })
      t.diagnostic(`${sent} sent, ${Math.round((memory.most - memory.before) / 2 ** 20)} MiB more`)
      assert.ok(sent > 0)
      assert.deepEqual(failed, [])
      assert.deepEqual(Object.keys(verdicts), ['hit'])
      assert.ok(
        memory.most - memory.before < GROWN_LIMIT_BYTES,
        `it took ${memory.most - memory.before} bytes`,
      )
      assert.ok(node.node.running)
    })
  }

  it('no descriptor and no connection to the origin stays open afterwards', async () => {
    const isFree = () => descriptorsOf(node.pid) <= descriptorsBefore && origin.connections() === 0
    await until('all are closed', isFree, FREE_WITHIN_MS)
  })
})
