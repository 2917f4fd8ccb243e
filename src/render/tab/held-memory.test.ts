import { it } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { until } from '../../../test/support/condition.ts'
import { openRenderer } from '../../../test/support/renderer.ts'

const renderer = await openRenderer({ slots: 1, timeoutMs: 60_000 })

it('what a render found is not kept by the tab that it used', async () => {
  v8.setFlagsFromString('--expose-gc')
  const heldMb = () => {
    vm.runInNewContext('gc')()
    return process.memoryUsage().heapUsed / 1e6
  }
  renderer.routes.set('/long', `<p>${'content '.repeat(125_000)}`)
  await renderer.html('/long?0')
  const before = heldMb()
  for (let n = 1; n <= 20; n++) await renderer.html(`/long?${n}`)
  await until('the pages are gone', () => heldMb() - before < 6)
})
