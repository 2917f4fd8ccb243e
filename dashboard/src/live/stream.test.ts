import assert from 'node:assert/strict'
import { it } from 'node:test'

import { createLiveStream, type EventStream } from './stream.ts'

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
  assert.deepEqual(seen, [
    'is connecting',
    'is live',
    'is lost',
    'is live',
    'reread',
    'signed out',
    'is lost',
  ])
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
