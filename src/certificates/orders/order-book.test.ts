import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, it } from 'node:test'
import { type TestFleet, testFleet } from '../../../test/support/certificate-fleet.ts'
import { takeOrderTasks } from './order-book.ts'

let fleet: TestFleet
before(async () => {
  fleet = await testFleet()
})
after(() => fleet.close())

it('whoever failed the last time holds up nobody else; then the one that waited longest is first', async () => {
  const waiting = [
    { name: 'failed-long-ago.example', failures: 3, hours: 9 },
    { name: 'new.example', failures: 0, hours: 1 },
    { name: 'failed.example', failures: 1, hours: 2 },
    { name: 'renewal.example', failures: 0, hours: 3 },
    { name: 'not-yet.example', failures: 0, hours: -1 },
  ]
  for (const { name, failures, hours } of waiting) {
    const { id } = await fleet.addDomain(name)
    await fleet.pool.query(
      'update certificate_order set failures = $2, next_at = now() - make_interval(hours => $3) where domain_id = $1',
      [id, failures, hours],
    )
  }
  const taken: string[] = []
  for (;;) {
    const [task, ...more] = await takeOrderTasks(fleet.pool, {
      ...{ lease: randomUUID(), leaseMs: 60_000, limit: 1 },
      nowMs: fleet.clock.nowMs(),
    })
    assert.equal(more.length, 0)
    if (task === undefined) break
    taken.push(task.domain.name)
  }
  assert.deepEqual(taken, ['renewal.example', 'new.example', 'failed-long-ago.example', 'failed.example'])
})
