import assert from 'node:assert/strict'
import { it } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { until } from '../../../test/support/condition.ts'
import { browserProcessesOf, proportionalMemory } from '../../../test/support/processes.ts'
import { openRenderer, scripted } from '../../../test/support/renderer.ts'

const renderer = await openRenderer({ slots: 1, timeoutMs: 60_000 })
const pages = () =>
  browserProcessesOf(renderer.dataDir).filter(({ command }) => command.includes('--type=renderer'))
const heldMiB = () => Math.max(...pages().map(({ pid }) => proportionalMemory(pid))) / 2 ** 20

it('what earlier pages left in a process is collected before it holds much, and when the page is idle', async () => {
  renderer.routes.set(
    '/heavy',
    scripted(`
      for (let n = 0; n < 4_000; n++) show('line ' + n)
      window.kept = Array.from({ length: 20_000 }, (_, n) => ({ n }))`),
  )
  await renderer.html('/heavy?0')
  const [first] = pages()
  const heldAfter: number[] = []
  for (let n = 1; n < 24; n++) {
    await renderer.html(`/heavy?${n}`)
    heldAfter.push(heldMiB())
  }
  assert(
    pages().some(({ pid }) => pid === first!.pid),
    'another process',
  )
  // 225 where nothing is collected.
  assert(Math.max(...heldAfter) < 200, `MiB: ${heldAfter}`)
  await until('less than two thirds of that', () => heldMiB() < (2 / 3) * Math.max(...heldAfter))
})

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
