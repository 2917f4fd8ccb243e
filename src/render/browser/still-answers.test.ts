import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

import { stillAnswers } from './browser-watch.ts'

const LIMIT_MS = 60

describe('whether a process still answers', () => {
  it('yes, as soon as it has', async () => {
    assert.equal(await stillAnswers({ answer: Promise.resolve('here'), processorMs: () => 0 }), true)
  })

  it('no, when it has ended', async () => {
    assert.equal(
      await stillAnswers({ answer: Promise.reject(new Error('gone')), processorMs: () => 0 }),
      false,
    )
  })

  it('no, without an answer and without work', async () => {
    assert.equal(
      await stillAnswers({ answer: new Promise(() => {}), processorMs: () => 70 }, LIMIT_MS),
      false,
    )
  })

  it('while it works it gets five times as long, and no longer', async () => {
    let looks = 0
    const processorMs = () => ++looks
    assert.equal(await stillAnswers({ answer: new Promise(() => {}), processorMs }, LIMIT_MS), false)
    assert.equal(looks, 10)
    assert.equal(
      await stillAnswers({ answer: delay(LIMIT_MS * 2), processorMs: () => performance.now() }, LIMIT_MS),
      true,
    )
  })

  it('yes, when we were held up ourselves while the answer lay there unread', async () => {
    const other = new Worker(
      `require('node:worker_threads').parentPort.on('message', (m) => m.postMessage('here'))`,
      {
        eval: true,
      },
    )
    try {
      await once(other, 'online')
      const { port1, port2 } = new MessageChannel()
      const answer = once(port1, 'message')
      other.postMessage(port2, [port2])
      const answers = stillAnswers({ answer, processorMs: () => 70 }, LIMIT_MS)
      // After this turn's reading, before the next one's timers.
      setImmediate(() => {
        for (const fromMs = performance.now(); performance.now() - fromMs < 3 * LIMIT_MS; );
      })
      assert.equal(await answers, true)
      port1.close()
    } finally {
      await other.terminate()
    }
  })
})
