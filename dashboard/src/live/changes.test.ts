import assert from 'node:assert/strict'
import { it } from 'node:test'
import { InfiniteQueryObserver, QueryClient } from '@tanstack/react-query'
import type { Domain } from '../api/types.ts'
import { createChanges, isOutdated, outdatedBy } from './changes.ts'
import { createLiveStream, type EventStream } from './stream.ts'

const DOMAIN = { custom_domain: 'a.example', renders_used: 1, monthly_render_limit: 10 } as Domain
const render = {
  event: 'render',
  data: { domain: 'a.example', path: '/', priority: 'warm', state: 'done', outcome: 'rendered' },
} as Parameters<typeof outdatedBy>[0]

it('each event invalidates only the data it is about', () => {
  const lines =
    'session,domains,domains a,domains a renders,domains a certificate,domains b renders,domains a pages,' +
    'domains a traffic 24h,domains  traffic 24h,domains a warm,traffic-summaries,operator queue'
  const keys = lines.split(',').map((line) => line.split(' ').map((part) => (part === '' ? null : part)))
  const read = (event: Parameters<typeof outdatedBy>[0]) => {
    const outdated = outdatedBy(event)
    return keys
      .filter((key) => outdated !== null && isOutdated(outdated, key))
      .map((key) => key.join(' '))
      .join()
  }
  const domain = 'a' as never
  assert.equal(
    read({ ...render, data: { ...render.data, domain } } as typeof render),
    'domains a renders,domains a pages',
  )
  assert.equal(
    read({ event: 'visits', data: { domain } }),
    'domains a pages,domains a traffic 24h,domains  traffic 24h,traffic-summaries',
  )
  assert.equal(
    read({ event: 'warm', data: { domain, queued: 1, running: 0, warming: true } }),
    'domains a warm',
  )
  assert.equal(
    read({ event: 'domain', data: { domain, is_active: true, certificate_ends_at: null } }),
    'domains,domains a,domains a renders,domains a certificate,domains a pages,domains a traffic 24h,domains a warm',
  )
  assert.equal(read({ event: 'account', data: {} }), 'session,domains')
  assert.equal(read({ event: 'fleet', data: { jobs_ended: 1 } }), 'operator queue')
  assert.equal(read({ event: 'reread', data: {} }), lines)
  assert.equal(read({ event: 'hello', data: {} }), '')
})

it('figures in an event are shown at once, and only for their domain', () => {
  const queries = new QueryClient()
  const changes = createChanges(queries)
  const other = { ...DOMAIN, custom_domain: 'b.example' }
  queries.setQueryData(['domains'], [DOMAIN, other])
  queries.setQueryData(['domains', 'a.example'], DOMAIN)
  const data = { domain: 'a.example' as never, renders_used: 5, monthly_render_limit: 20 }
  changes.take({ event: 'quota', data })
  const after = { ...DOMAIN, renders_used: 5, monthly_render_limit: 20 }
  assert.deepEqual(queries.getQueryData(['domains']), [after, other])
  assert.deepEqual(queries.getQueryData(['domains', 'a.example']), after)
  assert.equal(queries.getQueryData(['domains', 'b.example']), undefined)
  changes.close()
})

it('a burst of events refetches once at its start and once at its end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queries = new QueryClient()
  let read = 0
  queries.invalidateQueries = async () => {
    read++
  }
  const changes = createChanges(queries)
  for (let n = 0; n < 50; n++) changes.take(render)
  assert.equal(read, 1)
  t.mock.timers.tick(2_000)
  assert.equal(read, 2)
  t.mock.timers.tick(2_000)
  assert.equal(read, 2)
  changes.take(render)
  assert.equal(read, 3)
  changes.close()
  queries.clear()
})

it('a long list is only marked as stale, and not refetched', async (t) => {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  let asked = 0
  const watch = (key: string, pieces: number) => {
    const observer = new InfiniteQueryObserver(queries, {
      queryKey: ['domains', 'a.example', 'pages', key],
      queryFn: async () => ++asked,
      initialPageParam: 0,
      getNextPageParam: (_last, all) => all.length,
      initialData: {
        pages: Array(pieces).fill(0),
        pageParams: Array.from({ length: pieces }, (_, at) => at),
      },
    })
    t.after(observer.subscribe(() => {}))
    return observer
  }
  const [short, long] = [watch('short', 2), watch('long', 3)]
  const changes = createChanges(queries)
  t.after(changes.close)
  changes.take(render)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(asked, 2)
  assert.deepEqual(
    [short, long].map((each) => each.getCurrentResult().isStale),
    [false, true],
  )
})

function world() {
  const seen: string[] = []
  const sources: { say(name: string, data?: unknown): void; closed: boolean }[] = []
  const connect = (): EventStream => {
    const takers = new Map<string, (event: { data?: unknown }) => void>()
    const made = {
      closed: false,
      say: (name: string, data: unknown = {}) => takers.get(name)?.({ data: JSON.stringify(data) }),
    }
    sources.push(made)
    return {
      addEventListener: (name, take) => takers.set(name, take),
      close: () => {
        made.closed = true
      },
    }
  }
  const stream = createLiveStream({
    connect,
    take: ({ event }) => seen.push(event),
    onEnded: () => seen.push('signed out'),
    onState: (state) => seen.push(`is ${state}`),
  })
  return { seen, sources, stream }
}

it('reconnects after a loss with growing delays, and then has everything read again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { seen, sources, stream } = world()
  stream.open()
  sources[0]!.say('hello')
  sources[0]!.say('render')
  sources[0]!.say('error')
  assert.deepEqual(seen, ['is connecting', 'is live', 'render', 'is lost'])
  assert(sources[0]!.closed)
  sources[0]!.say('render')
  t.mock.timers.tick(1_000)
  sources[1]!.say('error')
  t.mock.timers.tick(1_000)
  assert.equal(sources.length, 2)
  t.mock.timers.tick(1_000)
  sources[2]!.say('hello')
  assert.deepEqual(seen.slice(4), ['is live', 'reread'])
  stream.close()
})

it('reports the end of the session; a stopping node is only a loss', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { seen, sources, stream } = world()
  stream.open()
  sources[0]!.say('hello')
  sources[0]!.say('end', { reason: 'node' })
  t.mock.timers.tick(1_000)
  sources[1]!.say('hello')
  sources[1]!.say('end', { reason: 'access' })
  assert.equal(seen.join(), 'is connecting,is live,is lost,is live,reread,signed out,is lost')
  stream.close()
  t.mock.timers.tick(60_000)
  assert.equal(sources.length, 2)
})

it('closed while hidden, it has everything read again when it is opened', () => {
  const { seen, sources, stream } = world()
  stream.open()
  stream.open()
  sources[0]!.say('hello')
  stream.close()
  stream.open()
  sources[1]!.say('hello')
  assert.deepEqual(seen, ['is connecting', 'is live', 'is off', 'is connecting', 'is live', 'reread'])
  stream.close()
})
