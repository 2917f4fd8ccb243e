/** A comparison from its request to the finding: two renders that count, and a third one where they differ. */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import type { PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { listDevicePages } from '../../sites/devices.ts'
import { runJob } from '../jobs/run-job.ts'
import { checkDevices } from './device-checks.ts'

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

const page = (text: string): RenderOutcome => ({
  kind: 'rendered',
  status: 200,
  headers: [],
  html: `<p>${text}</p>`,
})
const CASES: [string, RenderOutcome, RenderOutcome, differences: string[] | null, devices: string[]][] = [
  ['alike', page('shop'), page('shop'), [], ['desktop', 'mobile']],
  ['different', page('shop'), page('app'), ['text'], ['desktop', 'mobile', 'desktop']],
  [
    'another status',
    page('shop'),
    { kind: 'redirect', status: 302, location: 'https://m.example/' },
    ['status'],
    ['desktop', 'mobile', 'desktop'],
  ],
  ['no page for phones', page('shop'), { kind: 'blank' }, null, ['desktop', 'mobile']],
]
for (const [name, desktop, mobile, differences, devices] of CASES) {
  it(name, async () => {
    const domain = await queue.domain()
    await checkDevices(queue.pool, domain, ['/a' as PagePath])
    const rendered: string[] = []
    const options = {
      ...{ pool: queue.pool, plans: DEFAULT_PLANS, clock: systemClock, log: silentLog(), leaseMs: 0 },
      complete: queue.complete,
      async render({ visitor }: { visitor?: { device?: 'mobile' | undefined } | undefined }) {
        const device = visitor?.device ?? 'desktop'
        rendered.push(device)
        return { outcome: device === 'mobile' ? mobile : desktop, record: null }
      },
    }
    for (let turn = 0; turn < 2; turn++) {
      const [job] = await queue.claim()
      assert(job !== undefined)
      await runJob(options, job, new AbortController())
    }
    assert.deepEqual(rendered, devices)
    const [found] = await listDevicePages(queue.pool, domain)
    assert.equal(found!.requestedAt, null)
    assert.deepEqual(found!.checkedAt === null ? null : found!.differences, differences)
    const { rows } = await queue.pool.query<{ renders: number }>(
      'select renders from render_count where domain_id = $1',
      [domain],
    )
    assert.equal(rows[0]!.renders, mobile.kind === 'rendered' ? 2 : 1)
    const { state } = (await queue.jobs(domain))[0]!
    assert.equal(state, mobile.kind === 'blank' ? 'failed' : 'done')
  })
}
