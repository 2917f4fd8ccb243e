/** What a page is waited for, and to which millisecond. Each row is a story of events, with what is true then. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NetworkActivity } from './network-activity.ts'

type Given = {
  /** Requests whose addresses are delivered: all of their answers has come. */
  delivered?: readonly string[]
  /** Late answers are awaited; these are known long polls. */
  polls?: readonly string[]
  /** A crawler waits, and these are suspected to be long polls. */
  suspects?: readonly string[]
}

const addressOf = (id: string) => (id.startsWith('blob:') ? id : `https://a.example/${id}`)

/**
 * Steps are parted by commas: `at 100` is the time from there on, `start 1 Fetch` a request, `part 1` a piece of its
 * answer, `is busy` and `not busy` what is asked, `busy until 400` that it is so to the last millisecond before.
 */
function play(story: string, { delivered = [], polls, suspects }: Given = {}) {
  const clock = { ms: 0 }
  const forgotten: string[] = []
  const known = {
    isKnown: (_method: string, url: string) => polls?.some((id) => addressOf(id) === url) === true,
    isSuspected: (_method: string, url: string) => suspects?.some((id) => addressOf(id) === url) === true,
    learn: () => {},
    suspect: () => {},
    forget: (_method: string, url: string) => void forgotten.push(url),
  }
  const activity = new NetworkActivity(
    () => clock.ms,
    (url) => delivered.some((id) => addressOf(id) === url),
    polls && { untilMs: 18_500, polls: known, isLive: suspects !== undefined },
  )
  const questions: Record<string, () => boolean> = {
    busy: () => activity.isBusy(),
    held: () => activity.isClockHeld(),
    quiet: () => activity.isQuiet(1),
    'quiet-if-slow': () => activity.isQuiet(2),
    streaming: () => activity.isStreaming(),
    awaiting: () => activity.isAwaiting(),
    'given-time': () => activity.takeLostTime(),
    parkable: () => activity.canPark(),
  }
  let step = ''
  const answers = (question: string, expected: boolean) =>
    assert.equal(questions[question]!(), expected, `${step} at ${clock.ms}`)
  const verbs: Record<string, (first: string, second: string) => void> = {
    at: (ms) => Object.assign(clock, { ms: Number(ms) }),
    start: (id, type) => activity.started(id, { method: 'GET', url: addressOf(id), type }),
    part: (id) => activity.progressed(id),
    begin: (id) => activity.responseBegun(addressOf(id)),
    end: (id) => activity.finished(id),
    send: (id) => activity.messageSent(id),
    hear: (word) => activity.hear(word),
    'tell-aside': (id) => activity.hear(`aside GET ${addressOf(id)}`),
    'clock-runs-out': () => activity.clockRanOut(),
    'worker-starts': () => activity.workerStarted(),
    'worker-is-loaded': () => activity.workerLoaded(),
    'worker-computes': () => activity.workerBusy('1'),
    'worker-rests': () => activity.workerIdle('1'),
    'worker-has-an-answer': () => activity.workerWillSend(),
    'worker-has-ended': (id) => activity.workerEnded(addressOf(id)),
    is: (question) => answers(question, true),
    not: (question) => answers(question, false),
  }
  for (step of story.split(', ')) {
    const [verb = '', first = '', second = ''] = step.split(' ')
    if (first === 'until') {
      clock.ms = Number(second) - 1
      answers(verb, true)
      clock.ms++
      answers(verb, false)
    } else verbs[verb]!(first, second)
  }
  return { activity, forgotten }
}

function tell(stories: Record<string, string | [story: string, given: Given]>): void {
  for (const [what, told] of Object.entries(stories)) {
    const [story, given] = typeof told === 'string' ? [told] : told
    it(what, () => void play(story, given))
  }
}

/** A piece every 100 ms from the first time to the last, and what is true behind each, until it is not. */
const pieces = (fromMs: number, toMs: number, what: string) =>
  Array.from({ length: (toMs - fromMs) / 100 + 1 }, (_, n) => fromMs + 100 * n)
    .map((ms) => `at ${ms}, part 1, ${ms < toMs ? 'is' : 'not'} ${what}`)
    .join(', ')
/** The same request again and again, or as it is varied: so many are waited for. */
const polls = (most: number, query = (_time: number) => '') =>
  Array.from({ length: most + 1 }, (_, time) => {
    const id = `poll${query(time)}`
    return `start ${id} XHR, ${time < most ? 'is busy, not held' : 'not busy, is held'}, end ${id}`
  }).join(', ')

const UNREAD = 'is busy, not given-time, clock-runs-out'
const WAITED_FOR = `${UNREAD}, is busy, not given-time, not held`

/** A crawler waits, and nothing is suspected. */
const FIRST_VISIT: Given = { polls: [], suspects: [] }

describe('a response that the gateway has begun, before the browser tells of it', () => {
  tell({
    'Script: is awaited for 5 s from then on while a crawler waits': [
      'start 1 Script, at 1000, begin 1, at 5999, is awaiting, is busy, at 6000, not awaiting, not busy',
      FIRST_VISIT,
    ],
    'Script whose response began before its request was told': [
      'begin 1, at 100, start 1 Script, at 4999, is awaiting, at 5000, not awaiting, not busy',
      FIRST_VISIT,
    ],
    'the same address once more is another response': [
      'begin 1, start 1 XHR, end 1, at 6000, start 1 XHR, is awaiting, at 10999, is busy',
      FIRST_VISIT,
    ],
    'XHR of a render that no crawler waits for is awaited on': [
      'start 1 XHR, at 1000, begin 1, at 9000, is awaiting',
      { polls: [] },
    ],
  })
})

describe('what is waited for', () => {
  tell({
    'Fetch without an answer, up to 5 s':
      'start 1 Fetch, at 4999, is busy, not held, not quiet, at 5000, not busy, is held, is quiet',
    'Stylesheet without an answer, up to 10 s':
      'start 1 Stylesheet, at 9999, is busy, not held, not quiet, at 10000, not busy, is held, is quiet',
    'Fetch that goes on for ever, for 5 s': `start 1 Fetch, ${pieces(0, 5_000, 'busy')}`,
    'a second Document, of a frame, that goes on for ever, for 5 s': `start main Document, end main, start 1 Document, ${pieces(0, 5_000, 'busy')}`,
    'Document that goes on for ever, for 15 s': `start 1 Document, ${pieces(0, 15_000, 'busy')}`,
    // The page has time once more, to read it by and by; the clock does not stand for it either.
    'once the clock has run out by itself: no fetch that has come whole and that the page does not read': [
      `start 1 Fetch, part 1, ${UNREAD}, not busy, is given-time, not held, clock-runs-out, not given-time, part 1, is busy`,
      { delivered: ['1'] },
    ],
    'but a fetch that has not come whole': `start 1 Fetch, part 1, ${WAITED_FOR}`,
    'but a fetch without an answer': [`start 1 Fetch, ${WAITED_FOR}`, { delivered: ['1'] }],
    'but XMLHttpRequest, which the browser reads': [
      `start 1 XHR, part 1, ${WAITED_FOR}`,
      { delivered: ['1'] },
    ],
    'the same request eight times, not a ninth': polls(8),
    'the same path with another query thirty times': polls(30, (time) => `?since=${time}`),
    'silence longer where the machine is slow':
      'start 1 Fetch, part 1, at 799, not quiet-if-slow, at 800, is quiet-if-slow',
    'an answer that has begun, until it says nothing for 400 ms': 'start 1 Fetch, part 1, busy until 400',
    'a document in parts, until it says nothing for 2,500 ms': 'start 1 Document, part 1, busy until 2500',
    // Nothing is known to be pending: mostly a script at work, so only after a whole second.
    'nothing once it has ended':
      'start 1 Fetch, end 1, not busy, not held, at 999, not quiet, at 1000, is quiet',
    'a piece of an answer that the page still reads, for 400 ms after its last byte':
      'start 1 Fetch, hear draining, at 1000, end 1, busy until 1400, start 2 Fetch, end 2, hear drained, not busy',
    'work of the page that takes real time':
      'hear busy, is busy, not quiet, hear idle, not busy, is given-time, not given-time, hear busy, busy until 2500',
  })
})

tell({
  'a page is not parked while a request or a data base is under way':
    'is parkable, start 1 Fetch, not parkable, end 1, is parkable, hear busy, not parkable, hear idle, is parkable',
  'a page is never parked after a worker': 'hear worker, not parkable',
})

it('a page is never parked after a socket', () => {
  for (const event of ['Network.webSocketCreated', 'Network.webTransportCreated'] as const) {
    const activity = new NetworkActivity(() => 0)
    ;(activity.listeners[event] as (params: object) => void)({ requestId: '1', url: '' })
    activity.finished('1')
    assert.equal(activity.canPark(), false, event)
  }
})

describe('streams hold nothing but a moment', () => {
  for (const type of ['EventSource', 'WebSocket'])
    tell({
      [`${type}: 400 ms to say something, 150 ms for each next word, 2 s in all`]: `start 1 ${type}, part 1, not busy, is held, streaming until 400, ${pieces(400, 2_000, 'streaming')}`,
    })
  tell({
    'WebSocket: 2 s to open': 'start 1 WebSocket, streaming until 2000',
    'a socket that was asked, as long as one that was opened':
      'start 1 WebSocket, part 1, at 1000, not streaming, send 1, streaming until 1400',
    'beacons not even that': 'start 1 Ping, not busy, not streaming',
    'a worker that computes, for eight seconds in all, and its word a moment after that':
      'worker-starts, worker-computes, at 5000, is busy, worker-rests, not busy, streaming until 5400, is given-time, ' +
      'worker-computes, busy until 8000, worker-rests, not streaming, not given-time',
    'a worker that has had the answer to a request':
      'worker-starts, at 4000, not streaming, worker-has-an-answer, is streaming, is given-time',
    "a worker's script is waited for as the page's are, then the worker has a second for its first word":
      'worker-starts, start 1 Script, at 4000, is busy, end 1, worker-is-loaded, not busy, streaming until 5000, is given-time',
    'a word that is told before the end of a script that came late needs time, but no further one is waited for':
      'worker-starts, start 1 Script, at 4000, hear spoke, not given-time, end 1, worker-is-loaded, is given-time, not streaming',
    'the script of a worker that was ended before it began is not':
      'worker-starts, start 1 Script, worker-has-ended other, is busy, worker-has-ended 1, not busy, not held',
    'a word, and the page has its time for it':
      'start 1 WebSocket, part 1, not given-time, at 100, part 1, is given-time, at 2000, part 1, not given-time',
  })
})

const LIVE: Given = { polls: [], suspects: ['old', 'old.js'] }

describe('a request that outlives the page holds it for a second', () => {
  tell({
    'and is not awaited then': [
      'tell-aside 1, start 1 Fetch, at 999, is busy, at 1000, not busy, not awaiting, is held',
      LIVE,
    ],
    'also where it is redirected':
      'tell-aside 1, start 1 Fetch, at 500, start 1 Fetch, at 1499, is busy, at 1500, not busy',
    'once: the same request without the word is waited for':
      'tell-aside 1, start 1 Fetch, end 1, start 1 Fetch, at 4999, is busy',
  })
})

describe('while a crawler waits', () => {
  tell({
    'an answer that has begun is a stream after 5 s': [
      'at 100, start 1 XHR, part 1, at 5099, is awaiting, at 5100, not awaiting',
      LIVE,
    ],
    'and without one it is awaited to its end': [
      'at 100, start 1 XHR, part 1, at 18499, is awaiting',
      { polls: [] },
    ],
    'a suspected long poll holds the clock for 5 s, and is not awaited': [
      'start old Fetch, at 4999, is busy, at 5000, not busy, not awaiting',
      LIVE,
    ],
    'a suspected script as well, any other 10 s': [
      'start old.js Script, busy until 5000, end old.js, start 1 Script, at 14999, is busy, at 15000, not busy',
      LIVE,
    ],
    'the document of a frame holds the clock for 5 s': ['start 1 Document, busy until 5000', LIVE],
    'and without one for 10 s': ['start 1 Document, busy until 10000', { polls: [] }],
  })

  it('what is suspected is missing all the same', () => {
    const { activity } = play('start old Fetch, start old.js Script, at 6000', LIVE)
    const found = activity.missing().map(({ url, isSuspected, isCode }) => [url, isSuspected, isCode])
    assert.deepEqual(found, [
      [addressOf('old'), true, false],
      [addressOf('old.js'), true, true],
    ])
  })
})

it('a script that brings data for a callback is waited for as data is', () => {
  let ms = 0
  const activity = new NetworkActivity(() => ms)
  activity.started('1', { method: 'GET', url: 'https://a.example/poll?x=1&callback=cb7', type: 'Script' })
  ms = 4_999
  assert.equal(activity.isBusy(), true)
  ms = 5_000
  assert.equal(activity.isBusy(), false)
})

it('a stream that the page reads piece by piece keeps it busy for 5 s', () => {
  play(`hear draining, start 1 Fetch, ${pieces(0, 5_300, 'busy')}`)
})

describe('late answers are awaited', () => {
  it('until the limit', () => {
    const story = `start 1 XHR, at 18499, is awaiting, not busy, is held, at 18500, not awaiting`
    const { activity } = play(story, { polls: [] })
    const isNone = { isSuspected: false, isCode: false }
    assert.deepEqual(activity.missing(), [{ method: 'GET', url: addressOf('1'), ageMs: 18_500, ...isNone }])
  })

  it('neither streams nor beacons nor blobs nor known long polls', () => {
    const streams = ['EventSource', 'WebSocket', 'Ping', 'Image'].map((type) => `start ${type} ${type}`)
    const { activity } = play(`${streams.join(', ')}, start blob:1 Script, start poll Fetch, not awaiting`, {
      polls: ['poll'],
    })
    assert.deepEqual(activity.missing(), [])
  })

  it('one that comes gives the page its time again, and is no long poll', () => {
    const soon = 'start soon Fetch, start late Fetch, at 4999, end soon, not given-time'
    const { forgotten } = play(`${soon}, at 5000, end late, is given-time`, { polls: [] })
    assert.deepEqual(forgotten, [addressOf('late')])
  })

  const pause = (n: number) => `is awaiting, at ${400 * n}, part 1`
  tell({
    'a body until it has paused three times': [
      `start 1 XHR, part 1, ${pause(1)}, ${pause(2)}, ${pause(3)}, not awaiting`,
      { polls: [] },
    ],
    'the body of a fetch only while the page reads one': [
      'start 1 Fetch, part 1, not awaiting, hear reading, is awaiting',
      { polls: [] },
    ],
  })
})
