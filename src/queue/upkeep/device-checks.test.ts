/** A comparison from its request to the finding: two renders that count, and a third one where they differ. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openQueue, runNext } from '../../../test/support/queue.ts'
import type { PagePath } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { listDevicePages } from '../../sites/devices.ts'
import { checkDevices } from './device-checks.ts'

const queue = await openQueue()

const page = (text: string): RenderOutcome => ({
  ...{ kind: 'rendered', status: 200, headers: [], html: `<p>${text}</p>` },
})
const MOVED: RenderOutcome = { kind: 'redirect', status: 302, location: 'https://m.example/' }
const CASES: [string, RenderOutcome, RenderOutcome, differences: string[] | null, devices: string[]][] = [
  ['alike', page('shop'), page('shop'), [], ['desktop', 'mobile']],
  ['different', page('shop'), page('app'), ['text'], ['desktop', 'mobile', 'desktop']],
  ['another status', page('shop'), MOVED, ['status'], ['desktop', 'mobile', 'desktop']],
  ['no page for phones', page('shop'), { kind: 'blank' }, null, ['desktop', 'mobile']],
]
for (const [name, desktop, mobile, differences, devices] of CASES) {
  it(name, async () => {
    const domain = await queue.domain()
    await checkDevices(queue.pool, domain, ['/a' as PagePath])
    const rendered: string[] = []
    for (let turn = 0; turn < 2; turn++)
      await runNext(queue, async ({ visitor }) => {
        const device = visitor?.device ?? 'desktop'
        rendered.push(device)
        return { outcome: device === 'mobile' ? mobile : desktop, record: null }
      })
    assert.deepEqual(rendered, devices)
    const [found] = await listDevicePages(queue.pool, domain)
    assert.equal(found!.isOpen, false)
    assert.deepEqual(found!.checkedAt === null ? null : found!.differences, differences)
    assert.equal(await queue.renders(domain), mobile.kind === 'rendered' ? 2 : 1)
    const { state } = (await queue.jobs(domain))[0]!
    assert.equal(state, mobile.kind === 'blank' ? 'failed' : 'done')
  })
}
