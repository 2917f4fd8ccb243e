/** Polls are told from requests that bring content by their number, their slow answers and their names. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesPoll, RequestHistory } from './request-history.ts'

/** Asks again and again, `answerMs` after each answer; returns how many requests were no polls. */
function waitedFor(
  asked: (time: number) => { url: string; postData?: string; type?: string },
  answerMs: number,
) {
  let nowMs = 0
  const history = new RequestHistory(() => nowMs)
  for (let time = 0; time < 40; time++) {
    const request = { method: 'GET', postData: '', type: 'Fetch', ...asked(time) }
    if (history.started(`${time}`, request)) return time
    nowMs += answerMs
    history.ended(`${time}`)
  }
  return 40
}

const A = 'https://a.example/state'

describe('the same request again and again is waited for', () => {
  const rows: Record<string, [times: number, ReturnType<typeof waitedFor>]> = {
    'eight times while its answers are quick': [8, waitedFor(() => ({ url: A }), 999)],
    'twice if its answers take a second': [2, waitedFor(() => ({ url: A }), 1_000)],
    'once if it stays unanswered for five seconds': [1, waitedFor(() => ({ url: A }), 5_000)],
    'thirty times with another query, also with slow answers': [
      30,
      waitedFor((time) => ({ url: `${A}?page=${time}` }), 1_500),
    ],
    'twice with another query if its address names a poll': [
      2,
      waitedFor((time) => ({ url: `https://a.example/chat/poll?since=${time}` }), 1_500),
    ],
    'thirty times with another body': [
      30,
      waitedFor((time) => ({ url: A, postData: `{"page":${time}}` }), 1_500),
    ],
    'as often as any other if it is a style sheet': [
      8,
      waitedFor(() => ({ url: A, type: 'Stylesheet' }), 1_500),
    ],
  }
  for (const [name, [expected, times]] of Object.entries(rows)) it(name, () => assert.equal(times, expected))
})

it('a request is a poll while the same has been unanswered for five seconds', () => {
  let nowMs = 0
  const history = new RequestHistory(() => nowMs)
  const request = { method: 'GET', url: A, postData: '', type: 'XHR' }
  assert.equal(history.started('1', request), false)
  nowMs = 4_999
  assert.equal(history.started('2', request), false)
  nowMs = 5_000
  assert.equal(history.started('3', request), true)
  assert.equal(history.started('4', { ...request, url: `${A}/other` }), false)
})

for (const url of [
  'https://a.example/poll/18?since=2',
  'https://a.example/socket.io/?EIO=4&transport=polling&t=x1',
  'https://a.example/api?transport=longPolling',
  'https://a.example/db/_changes?feed=longpoll',
  'https://a.example/signalr/connect',
  'https://a.example/v1/longPoll',
  'https://a.example/room/7/events',
  'https://a.example/long-poll',
])
  it(`${url} names a long poll`, () => assert.equal(namesPoll(url), true))

for (const url of [
  'https://a.example/api/products?feed=new',
  'https://a.example/pollen/forecast',
  'https://a.example/catalogue.json?wait=1',
  'https://poll.example/list',
  'nonsense',
])
  it(`${url} names none`, () => assert.equal(namesPoll(url), false))
