import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { openQueue } from '../../../../../test/support/queue.ts'
import { enqueue, enqueueLive } from './enqueue.ts'
import { rememberSpelling } from './spelling.ts'

const queue = await openQueue()
const PATH = '/a?x=1&y=2' as PagePath

it('a job and later refreshes are rendered as the last crawler spelt the page, on its domain only', async () => {
  const domain = await queue.domain()
  const other = await queue.domain()
  const page = pageId(domain, PATH)
  const spelt = async () => {
    const [job] = await queue.claim()
    await queue.complete(job!, { kind: 'not-html', contentType: '' })
    return job!.spelling
  }
  await rememberSpelling(queue.pool, { ...page, spelling: '/a?y=2&x=1' as PagePath })
  await enqueueLive(queue.pool, page, 'r1', 1_000)
  assert.equal(await spelt(), '/a?y=2&x=1')
  await enqueue(queue.pool, domain, [PATH], 'refresh')
  assert.equal(await spelt(), '/a?y=2&x=1')
  await enqueue(queue.pool, other, [PATH], 'refresh')
  assert.equal(await spelt(), PATH)
  await rememberSpelling(queue.pool, { ...page, spelling: '/%61?y=2&x=1' as PagePath })
  await rememberSpelling(queue.pool, pageId(domain, '/b' as PagePath))
  await enqueue(queue.pool, domain, [PATH], 'warm')
  assert.equal(await spelt(), '/%61?y=2&x=1')
  await rememberSpelling(queue.pool, page)
  await enqueue(queue.pool, domain, [PATH], 'warm')
  assert.equal(await spelt(), PATH)
})
