import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { followContextWorkers } from './workers.ts'

it('a shared worker is reported to its context, from its beginning to its end', async () => {
  let heard: CdpListeners = {}
  const sent: string[] = []
  const browser: CdpSession = {
    send: async (method, ..._params) => {
      sent.push(method)
      return {} as never
    },
    listen: (listeners) => {
      heard = listeners
    },
  }
  const attach = (sessionId: string, browserContextId: string, type = 'shared_worker') =>
    heard['Target.attachedToTarget']?.({
      sessionId,
      waitingForDebugger: true,
      targetInfo: {
        targetId: sessionId,
        type,
        title: '',
        url: '',
        attached: true,
        canAccessOpener: false,
        browserContextId,
      },
    })
  const told: string[] = []
  const hearer = (name: string): CdpListeners => ({
    'Target.attachedToTarget': ({ sessionId }) => void told.push(`${name}: ${sessionId} began`),
    'Target.detachedFromTarget': ({ sessionId }) => void told.push(`${name}: ${sessionId} ended`),
  })

  const contextWorkers = await followContextWorkers(browser)
  assert.deepEqual(sent, ['Target.setAutoAttach'])
  contextWorkers.listen('a', hearer('first of a'))
  contextWorkers.listen('a', hearer('a'))
  contextWorkers.listen('b', hearer('b'))
  attach('1', 'a')
  attach('2', 'b')
  attach('3', 'unknown')
  attach('4', 'a', 'page')
  heard['Target.detachedFromTarget']?.({ sessionId: '1' })
  heard['Target.detachedFromTarget']?.({ sessionId: '1' })
  contextWorkers.forget('b')
  heard['Target.detachedFromTarget']?.({ sessionId: '2' })
  assert.deepEqual(told, ['a: 1 began', 'b: 2 began', 'a: 1 ended'])
})
