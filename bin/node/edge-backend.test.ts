import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { EnqueueLive } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { openEdge } from '../../test/support/edge.ts'

const page = pageId(1 as DomainId, '/a' as PagePath)
const verdictWhere = async (t: { after(end: () => unknown): void }, enqueueLive: EnqueueLive) => {
  const edge = await openEdge({ parts: { enqueueLive } }, t)
  return (await edge.ask(page.path)).verdict
}

it('a full queue passes the crawler as queue-full, any other failure of the queue as database', async (t) => {
  const failing =
    (error: Error): EnqueueLive =>
    () =>
      Promise.reject(error)
  assert.equal(await verdictWhere(t, failing(new AppError('queue_full'))), 'pass; queue-full')
  assert.equal(await verdictWhere(t, failing(new Error('no connection'))), 'pass; database')
  assert.equal(await verdictWhere(t, async () => 'over-quota'), 'pass; over-quota')
})

it('a stored page that is not in memory is a hit while nothing else can be asked', async (t) => {
  let isTaken = false
  const edge = await openEdge(
    {
      isReadApart: true,
      queries() {
        if (isTaken) throw new Error('all connections are taken')
      },
    },
    t,
  )
  assert.equal(await edge.verdict('/stored'), 'rendered')
  const other = await edge.node()
  t.after(() => other.close())
  isTaken = true
  assert.equal(await other.verdict('/stored'), 'hit')
  assert.equal(await other.verdict('/missing'), 'pass; database')
})

it('a job that was deleted with its domain passes the crawler as domain-gone', async (t) => {
  const unknown = '00000000-0000-4000-8000-000000000000' as JobId
  assert.equal(await verdictWhere(t, async () => unknown), 'pass; domain-gone')
})
