/** A crawler whose page is rendered at its own node is answered with what was stored there, without a word from PostgreSQL. */
import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { openEdge, path } from '../../../test/support/edge.ts'
import type { WaitedFor } from '../../queue/jobs/await.ts'

const reads: string[] = []
/** The end of a render is told when this has run. */
let beforeEnd: () => Promise<unknown>
let ends: PromiseWithResolvers<WaitedFor>
const edge = await openEdge({
  ended: (_id, end, page) => void beforeEnd().then(() => ends.resolve({ ...end, page }), ends.reject),
  parts: { waiter: { wait: () => ends.promise } },
  queries({ name, values }) {
    if (name === 'stored-page-read') reads.push(values[1] as string)
  },
})
beforeEach(async () => {
  await edge.reset()
  reads.length = 0
  beforeEnd = async () => {}
  ends = Promise.withResolvers()
})

const HTML = '<h1>red.example/a</h1><p>render 1</p>'

it('a page that was rendered here is served without being read, just as it is served from then on', async () => {
  const first = await edge.ask('/a')
  const second = await edge.ask('/a')
  assert.deepEqual([first.verdict, second.verdict, String(first.body)], ['rendered', 'hit', HTML])
  assert.deepEqual(reads, ['/a'], 'when it was a miss')
  assert.deepEqual(second.body, first.body)
  for (const name of ['etag', 'last-modified']) assert.equal(second.headers[name], first.headers[name])
})

it('it is not served when a purge comes between its end and the answer', async () => {
  beforeEnd = () => edge.purge({ kind: 'path', path: path('/a') }).then(edge.settled)
  const { verdict, body } = await edge.ask('/a')
  assert.equal(verdict, 'pass; rendered')
  assert.match(String(body), /<div id="app">/)
  assert.deepEqual(reads, ['/a', '/a'])
})

it('a node that is never told hears of the end from PostgreSQL: rendered elsewhere, or by one that died at the commit', async (t) => {
  const untold = await openEdge({ ended: () => {} }, t)
  const { verdict, body } = await untold.ask('/a')
  assert.deepEqual([verdict, String(body)], ['rendered', HTML])
})
