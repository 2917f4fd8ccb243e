import assert from 'node:assert/strict'
import { it } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import type { Domain } from '../api/types.ts'
import { Changes, isOutdated, outdatedBy } from './changes.ts'
import { type EventStream, LiveStream } from './stream.ts'

type Event = Parameters<typeof outdatedBy>[0]
const domain = 'a' as never
const render = {
  event: 'render',
  data: { domain, path: '/' as never, priority: 'warm', state: 'done', outcome: 'rendered' },
} as Event

it('each event invalidates only the data it is about', () => {
  const lines =
    'session,domains,domains a,domains a renders,domains a certificate,domains b renders,domains a pages,' +
    'domains a traffic 24h,domains  traffic 24h,domains a warm,traffic-summaries,integrations,operator queue'
  const keys = lines.split(',').map((line) => line.split(' ').map((part) => (part === '' ? null : part)))
  const rows: [Event, string][] = [
    [render, 'domains a renders,domains a pages'],
    [
      { event: 'visits', data: { domain } },
      'domains a pages,domains a traffic 24h,domains  traffic 24h,traffic-summaries,integrations',
    ],
    [{ event: 'warm', data: { domain, queued: 1, running: 0, warming: true } }, 'domains a warm'],
    [
      { event: 'domain', data: { domain, is_active: true, certificate_ends_at: null } },
      'domains,domains a,domains a renders,domains a certificate,domains a pages,domains a traffic 24h,domains a warm,integrations',
    ],
    [{ event: 'account', data: {} }, 'session,domains,integrations'],
    [{ event: 'fleet', data: { jobs_ended: 1 } }, 'operator queue'],
    [{ event: 'reread', data: {} }, lines],
    [{ event: 'hello', data: {} }, ''],
  ]
  for (const [event, wanted] of rows) {
    const outdated = outdatedBy(event)
    const found = keys.filter((key) => outdated !== null && isOutdated(outdated, key))
    assert.equal(found.map((key) => key.join(' ')).join(), wanted, event.event)
  }
})

it('figures in an event are shown at once, and only for their domain', () => {
  const queries = new QueryClient()
  const [a, b] = ['a', 'b'].map((custom_domain) => ({ custom_domain, renders_used: 1 }) as Domain)
  queries.setQueryData(['domains'], [a, b])
  queries.setQueryData(['domains', 'a'], a)
  new Changes(queries).take({ event: 'quota', data: { domain, renders_used: 5, monthly_render_limit: 20 } })
  const after = { custom_domain: 'a', renders_used: 5, monthly_render_limit: 20 }
  assert.deepEqual(queries.getQueryData(['domains']), [after, b])
  assert.deepEqual(queries.getQueryData(['domains', 'a']), after)
  assert.equal(queries.getQueryData(['domains', 'b']), undefined)
})

it('a burst of events refetches once at its start and once at its end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queries = new QueryClient()
  const { mock } = t.mock.method(queries, 'refetchQueries', async () => {})
  const changes = new Changes(queries)
  for (let n = 0; n < 50; n++) changes.take(render)
  assert.equal(mock.callCount(), 1)
  for (const _pause of [1, 2]) t.mock.timers.tick(2_000)
  assert.equal(mock.callCount(), 2)
  changes.take(render)
  assert.equal(mock.callCount(), 3)
  changes.close()
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
  const stream = new LiveStream(connect, {
    onEvent: ({ event }) => seen.push(event),
    onEnded: () => seen.push('signed out'),
    onState: (state) => seen.push(state),
  })
  stream.open()
  sources[0]!.say('hello')
  return { seen, sources, stream }
}

it('the stream reconnects after a loss with growing delays, and then has everything read again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { seen, sources, stream } = world()
  sources[0]!.say('render')
  sources[0]!.say('error')
  assert.deepEqual(seen.splice(0), ['connecting', 'live', 'render', 'lost'])
  assert(sources[0]!.closed)
  sources[0]!.say('render')
  t.mock.timers.tick(1_000)
  sources[1]!.say('error')
  t.mock.timers.tick(1_000)
  assert.equal(sources.length, 2)
  t.mock.timers.tick(1_000)
  sources[2]!.say('hello')
  assert.deepEqual(seen, ['live', 'reread'])
  stream.close()
})

it('the stream reports the end of the session, but takes a stopping node as a loss', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { seen, sources, stream } = world()
  sources[0]!.say('end', { reason: 'node' })
  t.mock.timers.tick(1_000)
  sources[1]!.say('hello')
  sources[1]!.say('end', { reason: 'access' })
  assert.equal(seen.join(), 'connecting,live,lost,live,reread,signed out,lost')
  stream.close()
  t.mock.timers.tick(60_000)
  assert.equal(sources.length, 2)
})

it('a stream that was closed while the window was hidden has everything read again once it is opened', () => {
  const { seen, sources, stream } = world()
  stream.open()
  stream.close()
  stream.open()
  sources[1]!.say('hello')
  assert.equal(seen.join(), 'connecting,live,off,connecting,live,reread')
  stream.close()
})
