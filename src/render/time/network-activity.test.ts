import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { NetworkActivity } from './network-activity.ts'

/** `delivered`: addresses of which all has come. */
function activityAt(delivered: readonly string[] = []) {
  const clock = { ms: 0 }
  const activity = new NetworkActivity(
    () => clock.ms,
    (url) => delivered.includes(url),
  )
  const start = (id: string, type = 'Fetch', url = `https://a.example/${id}`) =>
    activity.started(id, { method: 'GET', url, type })
  return { activity, clock, start }
}

describe('what is waited for', () => {
  for (const [type, answerMs] of [
    ['Fetch', 5_000],
    ['Script', 10_000],
    ['Stylesheet', 10_000],
  ] as const) {
    it(`${type} without an answer, up to ${answerMs} ms`, () => {
      const { activity, clock, start } = activityAt()
      start('1', type)
      clock.ms = answerMs - 1
      assert.deepEqual([activity.isBusy(), activity.isClockHeld(), activity.isQuiet(1)], [true, false, false])
      clock.ms = answerMs
      assert.deepEqual([activity.isBusy(), activity.isClockHeld(), activity.isQuiet(1)], [false, true, true])
    })
  }

  it('silence longer where the machine is slow', () => {
    const { activity, clock, start } = activityAt()
    start('1')
    activity.progressed('1')
    clock.ms = 799
    assert.equal(activity.isQuiet(2), false)
    clock.ms = 800
    assert.equal(activity.isQuiet(2), true)
  })

  it('an answer that has begun, until it says nothing for 400 ms', () => {
    const { activity, clock, start } = activityAt()
    start('1')
    clock.ms = 100
    activity.progressed('1')
    clock.ms = 499
    assert.equal(activity.isBusy(), true)
    activity.progressed('1')
    clock.ms = 898
    assert.equal(activity.isBusy(), true)
    clock.ms = 899
    assert.equal(activity.isBusy(), false)
  })

  for (const [type, bodyMs] of [
    ['Fetch', 5_000],
    ['Document', 15_000],
  ] as const) {
    it(`${type} that goes on for ever, for ${bodyMs} ms`, () => {
      const { activity, clock, start } = activityAt()
      start('1', type)
      for (; clock.ms < bodyMs; clock.ms += 100) {
        activity.progressed('1')
        assert.equal(activity.isBusy(), true)
      }
      activity.progressed('1')
      assert.equal(activity.isBusy(), false)
    })
  }

  it('no answer that has come whole and that the page does not read, once the clock has run out by itself', () => {
    const url = 'https://a.example/unread'
    for (const [type, isAnswered, delivered, isBusyAfter] of [
      ['Fetch', true, [url], false],
      ['Fetch', true, [], true],
      ['Fetch', false, [url], true],
      ['XHR', true, [url], true],
      ['Script', true, [url], true],
    ] as const) {
      const { activity, start } = activityAt(delivered)
      start('1', type, url)
      if (isAnswered) activity.progressed('1')
      assert.equal(activity.isBusy(), true)
      assert.equal(activity.takeLostTime(), false)
      activity.clockRanOut()
      const what = `${type} ${isAnswered} ${delivered}`
      assert.equal(activity.isBusy(), isBusyAfter, what)
      // The clock does not stand for it either.
      assert.equal(activity.isClockHeld(), false, what)
      // The page has time once more, to read it by and by.
      assert.equal(activity.takeLostTime(), !isBusyAfter, what)
      activity.clockRanOut()
      assert.equal(activity.takeLostTime(), false, what)
      activity.progressed('1')
      assert.equal(activity.isBusy(), true, 'it is read after all')
    }
  })

  it('a document in parts, until it says nothing for 2,500 ms', () => {
    const { activity, clock, start } = activityAt()
    start('1', 'Document')
    activity.progressed('1')
    clock.ms = 2_499
    assert.equal(activity.isBusy(), true)
    clock.ms = 2_500
    assert.equal(activity.isBusy(), false)
  })

  it('nothing once it has ended', () => {
    const { activity, clock, start } = activityAt()
    start('1')
    activity.finished('1')
    assert.deepEqual([activity.isBusy(), activity.isClockHeld()], [false, false])
    // Nothing is known to be pending: mostly a script at work, so only after a whole second.
    clock.ms = 999
    assert.equal(activity.isQuiet(1), false)
    clock.ms = 1_000
    assert.equal(activity.isQuiet(1), true)
  })

  it('the same request eight times, not a ninth', () => {
    const { activity, start } = activityAt()
    for (let time = 1; time <= 8; time++) {
      start('1', 'XHR', 'https://a.example/poll')
      assert.equal(activity.isBusy(), true)
      activity.finished('1')
    }
    start('1', 'XHR', 'https://a.example/poll')
    assert.deepEqual([activity.isBusy(), activity.isClockHeld()], [false, true])
  })

  it('the same path with another query thirty times', () => {
    const { activity, start } = activityAt()
    for (let time = 1; time <= 31; time++) {
      start('1', 'XHR', `https://a.example/poll?since=${time}`)
      assert.equal(activity.isBusy(), time <= 30)
      activity.finished('1')
    }
  })

  it('a piece of an answer that the page still reads, for 400 ms after its last byte', () => {
    const { activity, clock, start } = activityAt()
    start('1')
    activity.hear('draining')
    clock.ms = 1_000
    activity.finished('1')
    clock.ms = 1_399
    assert.equal(activity.isBusy(), true)
    clock.ms = 1_400
    assert.equal(activity.isBusy(), false)
    start('2')
    activity.finished('2')
    activity.hear('drained')
    assert.equal(activity.isBusy(), false)
  })

  it('work of the page that takes real time', () => {
    const { activity, clock } = activityAt()
    activity.hear('busy')
    assert.deepEqual([activity.isBusy(), activity.isQuiet(1)], [true, false])
    activity.hear('idle')
    assert.equal(activity.isBusy(), false)
    assert.deepEqual([activity.takeLostTime(), activity.takeLostTime()], [true, false])
    activity.hear('busy')
    clock.ms = 2_500
    assert.equal(activity.isBusy(), false)
  })
})

describe('streams hold nothing but a moment', () => {
  for (const type of ['EventSource', 'WebSocket']) {
    it(`${type}: 400 ms to say something, 150 ms for each next word, 2 s in all`, () => {
      const { activity, clock, start } = activityAt()
      start('1', type)
      activity.progressed('1')
      assert.deepEqual([activity.isBusy(), activity.isClockHeld()], [false, true])
      clock.ms = 399
      assert.equal(activity.isStreaming(), true)
      clock.ms = 400
      assert.equal(activity.isStreaming(), false)
      for (; clock.ms < 2_000; clock.ms += 100) {
        activity.progressed('1')
        assert.equal(activity.isStreaming(), true)
      }
      activity.progressed('1')
      assert.equal(activity.isStreaming(), false)
    })
  }

  it('WebSocket: 2 s to open', () => {
    const { activity, clock, start } = activityAt()
    start('1', 'WebSocket')
    clock.ms = 1_999
    assert.equal(activity.isStreaming(), true)
    clock.ms = 2_000
    assert.equal(activity.isStreaming(), false)
  })

  it('a socket that was asked, as long as one that was opened', () => {
    const { activity, clock, start } = activityAt()
    start('1', 'WebSocket')
    activity.progressed('1')
    clock.ms = 1_000
    assert.equal(activity.isStreaming(), false)
    activity.messageSent('1')
    clock.ms = 1_399
    assert.equal(activity.isStreaming(), true)
    clock.ms = 1_400
    assert.equal(activity.isStreaming(), false)
  })

  it('beacons not even that', () => {
    const { activity, start } = activityAt()
    start('1', 'Ping')
    assert.deepEqual([activity.isBusy(), activity.isStreaming()], [false, false])
  })

  it('a worker that computes, for eight seconds in all, and its word a moment after that', () => {
    const { activity, clock } = activityAt()
    activity.workerStarted()
    activity.workerBusy('1')
    clock.ms = 5_000
    assert.equal(activity.isBusy(), true)
    activity.workerIdle('1')
    assert.deepEqual([activity.isBusy(), activity.isStreaming()], [false, true])
    clock.ms = 5_399
    assert.equal(activity.isStreaming(), true)
    clock.ms = 5_400
    assert.equal(activity.isStreaming(), false)
    assert.equal(activity.takeLostTime(), true)
    activity.workerBusy('1')
    clock.ms = 7_999
    assert.equal(activity.isBusy(), true)
    clock.ms = 8_000
    assert.equal(activity.isBusy(), false)
    activity.workerIdle('1')
    assert.deepEqual([activity.isStreaming(), activity.takeLostTime()], [false, false])
  })

  it('no further word of a worker that spoke while it computed', () => {
    const { activity, clock } = activityAt()
    activity.workerStarted()
    activity.workerBusy('1')
    clock.ms = 50
    activity.messageReceived()
    activity.workerIdle('1')
    clock.ms = 199
    assert.equal(activity.isStreaming(), true)
    clock.ms = 200
    assert.equal(activity.isStreaming(), false)
  })

  it('a worker that has had the answer to a request', () => {
    const { activity, clock } = activityAt()
    activity.workerStarted()
    clock.ms = 4_000
    assert.equal(activity.isStreaming(), false)
    activity.workerWillSend()
    assert.deepEqual([activity.isStreaming(), activity.takeLostTime()], [true, true])
  })

  it("a worker's script is waited for as the page's are, then the worker has a second for its first word", () => {
    const { activity, clock, start } = activityAt()
    activity.workerStarted()
    start('1', 'Script')
    clock.ms = 4_000
    assert.equal(activity.isBusy(), true)
    activity.finished('1')
    activity.workerLoaded()
    clock.ms = 4_999
    assert.deepEqual([activity.isBusy(), activity.isStreaming()], [false, true])
    clock.ms = 5_000
    assert.equal(activity.isStreaming(), false)
    assert.equal(activity.takeLostTime(), true)
  })

  it('the script of a worker that was ended before it began is not', () => {
    const { activity, start } = activityAt()
    activity.workerStarted()
    start('1', 'Script', 'https://a.example/worker.js')
    activity.workerEnded('https://a.example/other.js')
    assert.equal(activity.isBusy(), true)
    activity.workerEnded('https://a.example/worker.js')
    assert.deepEqual([activity.isBusy(), activity.isClockHeld()], [false, false])
  })

  it('a word, and the page has its time for it', () => {
    const { activity, clock, start } = activityAt()
    start('1', 'WebSocket')
    activity.progressed('1')
    assert.equal(activity.takeLostTime(), false)
    clock.ms = 100
    activity.progressed('1')
    assert.equal(activity.takeLostTime(), true)
    clock.ms = 2_000
    activity.progressed('1')
    assert.equal(activity.takeLostTime(), false)
  })
})

describe('late answers are awaited', () => {
  function awaiting(known: readonly string[] = []) {
    const clock = { ms: 0 }
    const forgotten: string[] = []
    const polls = {
      isKnown: (_method: string, url: string) => known.includes(url),
      learn: () => {},
      forget: (_method: string, url: string) => void forgotten.push(url),
    }
    const activity = new NetworkActivity(
      () => clock.ms,
      () => false,
      { untilMs: 18_500, polls },
    )
    const start = (id: string, type = 'Fetch') =>
      activity.started(id, { method: 'GET', url: `https://a.example/${id}`, type })
    return { activity, clock, start, forgotten }
  }

  for (const type of ['Fetch', 'XHR', 'Script', 'Stylesheet']) {
    it(`${type}, until the limit`, () => {
      const { activity, clock, start } = awaiting()
      start('1', type)
      clock.ms = 18_499
      assert.deepEqual(
        [activity.isAwaiting(), activity.isBusy(), activity.isClockHeld()],
        [true, false, true],
      )
      clock.ms = 18_500
      assert.equal(activity.isAwaiting(), false)
      assert.deepEqual(activity.missing(), [{ method: 'GET', url: 'https://a.example/1', ageMs: 18_500 }])
    })
  }

  it('neither streams nor beacons nor known long polls', () => {
    const { activity, start } = awaiting(['https://a.example/poll'])
    for (const type of ['EventSource', 'WebSocket', 'Ping', 'Image']) start(type, type)
    start('poll')
    assert.deepEqual([activity.isAwaiting(), activity.missing()], [false, []])
  })

  it('a body until it has paused three times', () => {
    const { activity, clock, start } = awaiting()
    start('1', 'XHR')
    activity.progressed('1')
    for (let pause = 1; pause <= 3; pause++) {
      assert.equal(activity.isAwaiting(), true, `${pause}`)
      clock.ms += 400
      activity.progressed('1')
    }
    assert.equal(activity.isAwaiting(), false)
  })

  it('the body of a fetch only while the page reads one', () => {
    const { activity, start } = awaiting()
    start('1')
    activity.progressed('1')
    assert.equal(activity.isAwaiting(), false)
    activity.hear('reading')
    assert.equal(activity.isAwaiting(), true)
  })

  it('one that comes gives the page its time again, and is no long poll', () => {
    const { activity, clock, start, forgotten } = awaiting()
    start('soon')
    start('late')
    clock.ms = 4_999
    activity.finished('soon')
    assert.equal(activity.takeLostTime(), false)
    clock.ms = 5_000
    activity.finished('late')
    assert.deepEqual([activity.takeLostTime(), forgotten], [true, ['https://a.example/late']])
  })
})
