import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { waitingForLocks } from '../../../test/support/database.ts'
import { paths, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { transaction } from '../../db/transaction.ts'
import { cancelJobs } from './cancel.ts'
import { enqueue } from './enqueue.ts'

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

const waitingForALock = async () => (await waitingForLocks(queue.pool)) === 1

it('what is queued in bulk at the same moment is cancelled too', async () => {
  const domain = await queue.domain()
  let cancelled: Promise<number> | null = null
  await transaction(queue.pool, async (client) => {
    await enqueue(client, domain, paths(3), 'refresh')
    cancelled = transaction(queue.pool, (other) => cancelJobs(other, domain))
    await until('the other one waits', waitingForALock)
  })
  assert.equal(await cancelled, 3)
  assert.deepEqual(new Set((await queue.jobs(domain)).map(({ state }) => state)), new Set(['cancelled']))
})
