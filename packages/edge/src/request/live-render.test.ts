import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { MemoryBackend, type RenderLive, servedDomain } from '../../../../test/support/memory-backend.ts'
import type { LiveEnd, LiveRendered } from '../backend.ts'
import { PageCache } from '../page/page-cache.ts'
import { prepareServed, versionOf } from '../page/prepared-page.ts'
import { edgeDomain } from './domain.ts'
import { LiveRenders, WAITING_LIMIT } from './live-render.ts'

const domainOf = (id: number, account: number) => edgeDomain(servedDomain({ id: id as DomainId, account }))
const domain = domainOf(1, 1)
const sibling = domainOf(2, 1)
const other = domainOf(3, 2)
/** What one account may hold while no other holds anything. */
const SHARE = WAITING_LIMIT / 2
const key = (path: string, { id } = domain) => pageId(id, path as PagePath)
const connection = () => Object.assign(new EventEmitter(), { req: { headers: {} } }) as ServerResponse
const forEver = () => new Promise<never>(() => {})
const untilAborted: RenderLive = (_request, signal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
const ended = (state: LiveRendered['state'], outcome: LiveRendered['outcome']): LiveRendered => ({
  state,
  outcome,
  page: null,
  unstored: null,
})

/** `render`: what comes of a live render. */
function start({
  render = untilAborted,
  liveWaitMs = 60_000,
}: {
  render?: RenderLive
  liveWaitMs?: number
} = {}) {
  const asked: string[] = []
  const backend = new MemoryBackend([], (request, signal) => {
    asked.push(request.page.path)
    return render(request, signal)
  })
  const pages = new PageCache({
    limitBytes: 0,
    read: async () => null,
    prepare: prepareServed,
    connected: () => true,
    isAway: () => false,
    readAgain: async () => null,
    versionOf,
  })
  const renders = new LiveRenders(backend, pages, silentLog(), { liveWaitMs })
  return { renders, asked }
}

describe('crawlers that wait for renders', () => {
  it('are limited by account: at its share a crawler waits, one past it is passed, and another account still waits', async () => {
    const { renders, asked } = start()
    const connections = Array.from({ length: SHARE }, connection)
    const first = connections[0]!
    const waiting = connections.map((res, at) => {
      const asked = at % 2 === 0 ? domain : sibling
      return renders.render(asked, key(`/${at}`, asked), res)
    })
    assert.equal(await renders.render(domain, key('/more'), connection()), 'busy')
    assert.equal(await renders.render(sibling, key('/more', sibling), connection()), 'busy')
    first.emit('close')
    assert.equal(await waiting[0], 'late')
    await new Promise(setImmediate)
    waiting.push(renders.render(domain, key('/more'), first))
    waiting.push(renders.render(other, key('/theirs', other), connections[1]!))
    await new Promise(setImmediate)
    for (const res of connections) res.emit('close')
    assert((await Promise.all(waiting)).every((end) => end === 'late'))
    assert(asked.includes('/more') && asked.includes('/theirs'))
  })

  it('share one job for a page, which is waited for until the last of them has gone', async () => {
    let signalled: AbortSignal | undefined
    const { renders, asked } = start({
      render: (_request, signal) => {
        signalled = signal
        return forEver()
      },
    })
    const [one, two] = [connection(), connection()]
    const waiting = [one, two].map((res) => renders.render(domain, key('/a'), res))
    await new Promise(setImmediate)
    one.emit('close')
    await waiting[0]
    assert.equal(signalled?.aborted, false)
    two.emit('close')
    await waiting[1]
    assert.equal(signalled?.aborted, true)
    assert.deepEqual(asked, ['/a'])
  })

  it('that disconnect hold their place until what is under way for them has ended', async () => {
    const { promise: underWay, resolve: end } = Promise.withResolvers<'late'>()
    const { renders } = start({ render: () => underWay })
    const connections = Array.from({ length: SHARE }, connection)
    const waiting = connections.map((res, at) => renders.render(domain, key(`/${at}`), res))
    for (const res of connections) res.emit('close')
    await Promise.all(waiting)
    assert.equal(await renders.render(domain, key('/more'), connection()), 'busy')
    end('late')
    await new Promise(setImmediate)
    const more = connection()
    const after = renders.render(domain, key('/more'), more)
    more.emit('close')
    assert.equal(await after, 'late')
  })

  it('that have all disconnected end the wait with a reason of its own; one that waits to its deadline does not', async () => {
    const reasons: unknown[] = []
    const { renders } = start({
      liveWaitMs: 10,
      render: (request, signal) => {
        signal.addEventListener('abort', () => reasons.push(signal.reason))
        return untilAborted(request, signal)
      },
    })
    const gone = connection()
    const left = renders.render(domain, key('/left'), gone)
    gone.emit('close')
    await left
    assert(reasons[0] instanceof Abandoned)
    await renders.render(domain, key('/late'), connection())
    assert.equal(reasons.length, 2)
    assert(!(reasons[1] instanceof Abandoned))
  })

  it('stop waiting at the deadline, also if the backend never answers', async () => {
    const { renders } = start({ render: forEver, liveWaitMs: 10 })
    assert.equal(await renders.render(domain, key('/a'), connection()), 'late')
  })

  it('get the page or the reason for every way in which a render ends', async () => {
    const ends: [LiveEnd | Error, string][] = [
      [ended('failed', 'crashed'), 'crashed'],
      [ended('cancelled', 'cancelled'), 'cancelled'],
      // From a node of another version.
      [ended('failed', 'a\r\nX-Injected: 1' as never), 'failed'],
      // Done, and purged a moment later.
      [ended('done', 'rendered'), 'rendered'],
      // An error page that could not be kept for the crawlers that wait.
      [ended('failed', 'site-error'), 'site-error'],
      ['late', 'late'],
      ['queue-full', 'queue-full'],
      ['over-quota', 'over-quota'],
      [new Error('no database'), 'database'],
    ]
    for (const [end, word] of ends) {
      const render = async () => {
        if (end instanceof Error) throw end
        return end
      }
      const { renders } = start({ render })
      assert.equal(await renders.render(domain, key('/a'), connection()), word)
    }
  })
})
