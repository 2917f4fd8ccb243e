import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { KEPT_MS, LongPolls, POLLS_AN_ACCOUNT, patternOf } from './long-polls.ts'

const site = (account: number, customDomain = 'a.example') => ({
  account: account as AccountId,
  customDomain: customDomain as DomainName,
})
const POLL = 'https://a.example/poll/18?since=2'

it('is known by site, method and pattern, for an hour, or until it is answered', () => {
  const clock = { ms: 0 }
  const all = new LongPolls(() => clock.ms)
  const polls = all.forSite(site(1))
  polls.learn('GET', 'https://a.example/poll/17?since=1')
  assert.equal(polls.isKnown('GET', POLL), true)
  assert.equal(polls.isKnown('POST', POLL), false)
  assert.equal(polls.isKnown('GET', 'https://b.example/poll/18'), false)
  assert.equal(all.forSite(site(1, 'b.example')).isKnown('GET', POLL), false)
  assert.equal(all.forSite(site(2)).isKnown('GET', POLL), false)
  clock.ms = KEPT_MS - 1
  assert.equal(polls.isKnown('GET', POLL), true)
  clock.ms = KEPT_MS
  assert.equal(polls.isKnown('GET', POLL), false)
  polls.learn('GET', POLL)
  polls.forget('GET', 'https://a.example/poll/19')
  assert.equal(polls.isKnown('GET', POLL), false)
})

it('a suspect is none of the known, until it is learnt, answered, or an hour has passed', () => {
  const clock = { ms: 0 }
  const polls = new LongPolls(() => clock.ms).forSite(site(1))
  const standing = () => [polls.isSuspected('GET', POLL), polls.isKnown('GET', POLL)]
  polls.suspect('GET', 'https://a.example/poll/17')
  assert.deepEqual(standing(), [true, false])
  polls.learn('GET', POLL)
  assert.deepEqual(standing(), [false, true])
  polls.suspect('GET', POLL)
  assert.deepEqual(standing(), [false, true], 'a suspicion does not weaken what is known')
  polls.forget('GET', POLL)
  assert.deepEqual(standing(), [false, false])
  polls.suspect('GET', POLL)
  clock.ms = KEPT_MS - 1
  assert.deepEqual(standing(), [true, false])
  clock.ms = KEPT_MS
  assert.deepEqual(standing(), [false, false])
})

it('an account that has many forgets its own, and no other account loses any', () => {
  const all = new LongPolls(() => 0)
  all.forSite(site(1)).learn('GET', POLL)
  const many = all.forSite(site(2))
  const url = (at: number) => `https://b.example/${'x'.repeat(at % 30)}/${String.fromCharCode(97 + at / 30)}`
  for (let at = 0; at <= POLLS_AN_ACCOUNT; at++) {
    many.learn('GET', url(at))
    assert.equal(many.isKnown('GET', url(at)), true)
  }
  const known = Array.from({ length: POLLS_AN_ACCOUNT + 1 }, (_, at) => many.isKnown('GET', url(at)))
  assert.equal(known.filter(Boolean).length, POLLS_AN_ACCOUNT)
  assert.equal(all.forSite(site(1)).isKnown('GET', POLL), true)
})

for (const [url, pattern] of [
  ['https://a.example/socket.io/?EIO=4&transport=polling&t=x1', 'a.example/socket.io/'],
  ['https://a.example:8443/sockjs/017/k3x9/xhr', 'a.example:8443/sockjs/*/*/xhr'],
  [`https://a.example/poll/${'f'.repeat(33)}`, 'a.example/poll/*'],
  [`https://a.example/${'part/'.repeat(100)}`, `a.example/${'part/'.repeat(100)}`.slice(0, 300)],
  ['not a url', ''],
] as const)
  it(`the pattern of ${url.slice(0, 60)}`, () => assert.equal(patternOf(url), pattern))
