import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { it } from 'node:test'
import { CdpClosed, connectCdp, EVENT_LIMIT_BYTES } from './cdp.ts'

function connected() {
  const fromBrowser = new PassThrough()
  const say = (message: object) => fromBrowser.write(`${JSON.stringify(message)}\0`)
  return { fromBrowser, say, cdp: connectCdp(new PassThrough(), fromBrowser) }
}

/** What is said in one moment is written at its end. */
const nextTurn = () => new Promise(setImmediate)

it('messages are put together however they are cut, also inside a letter', async () => {
  const { fromBrowser, cdp } = connected()
  const answer = cdp.browser.send('Browser.getVersion')
  const bytes = Buffer.from(`${JSON.stringify({ id: 1, result: { product: 'Ünï→' } })}\0`)
  for (const byte of bytes) fromBrowser.write(Buffer.from([byte]))
  assert.equal((await answer).product, 'Ünï→')
})

it('events go to the session they belong to, and are dropped once it has ended', async () => {
  const { say, cdp } = connected()
  const heard: string[] = []
  for (const id of ['a', 'b']) cdp.session(id).listen({ 'Page.frameNavigated': () => heard.push(id) })
  say({ method: 'Page.frameNavigated', sessionId: 'b', params: {} })
  say({ method: 'Page.frameNavigated', params: {} })
  const open = cdp.session('a').send('Page.enable')
  await nextTurn()
  cdp.endSession('a')
  await assert.rejects(open, CdpClosed)
  say({ method: 'Page.frameNavigated', sessionId: 'a', params: {} })
  await nextTurn()
  assert.deepEqual(heard, ['b'])
})

it('when the pipe ends, everything that is open and everything new is rejected, and it is told once', async () => {
  const { fromBrowser, cdp } = connected()
  const open = cdp.browser.send('Browser.getVersion')
  fromBrowser.end()
  await assert.rejects(open, CdpClosed)
  assert.equal(await cdp.closed, 'the pipe has ended')
  await assert.rejects(cdp.browser.send('Browser.getVersion'), CdpClosed)
})

/** As Chromium writes it, NUL not counted. */
const event = (sessionId: string, bytes: number) => {
  const empty = { method: 'Runtime.consoleAPICalled', params: { type: '' }, sessionId }
  return { ...empty, params: { type: 'x'.repeat(bytes - JSON.stringify(empty).length) } }
}
const target = (event: 'attachedTo' | 'detachedFrom', page: string, worker: string) => ({
  method: `Target.${event}Target`,
  sessionId: page,
  params: { sessionId: worker },
})

/** A conversation in which it is counted how often a session exceeds its limit. */
function counted() {
  const { say, cdp } = connected()
  const seen = { exceeded: 0, heard: 0 }
  function listen(id: string, bytes: number) {
    const listeners = { 'Runtime.consoleAPICalled': () => seen.heard++ }
    cdp.session(id).listen(listeners, { bytes, exceeded: () => seen.exceeded++ })
  }
  /** How often it has been exceeded once all this is told. */
  async function tell(...messages: object[]): Promise<number> {
    for (const message of messages) say(message)
    await nextTurn()
    return seen.exceeded
  }
  return { listen, tell, seen }
}

it('what is told of a session is counted up to its limit, and one byte past it; a small event counts as one of 2 KiB', async () => {
  const { listen, tell } = counted()
  listen('a', 100_000)
  assert.equal(await tell(event('a', 60_000), event('b', 500_000), event('a', 40_000)), 0)
  assert.equal(await tell(event('a', 100), event('a', 100)), 1)
  listen('a', 100_000)
  assert.equal(await tell(event('a', 100_000)), 1)
  listen('a', 4 * 1024)
  assert.equal(await tell(event('a', 100), event('a', 100)), 1)
  assert.equal(await tell(event('a', 100)), 2)
})

it('what is told of workers counts for the page that they belong to, as long as they do', async () => {
  const { listen, tell } = counted()
  await tell(target('attachedTo', 'page', 'worker'), target('attachedTo', 'worker', 'nested'))
  listen('page', 100_000)
  assert.equal(await tell(target('detachedFrom', 'page', 'other'), event('nested', 90_000)), 0)
  assert.equal(await tell(event('worker', 20_000)), 1)
  listen('page', 100_000)
  assert.equal(await tell(target('detachedFrom', 'page', 'worker'), event('nested', 500_000)), 1)
})

it('an event is read up to its limit; one byte past it it only counts', async () => {
  const { listen, tell, seen } = counted()
  listen('a', 2 * EVENT_LIMIT_BYTES)
  await tell(event('a', EVENT_LIMIT_BYTES))
  assert.equal(seen.heard, 1)
  await tell(event('a', EVENT_LIMIT_BYTES + 1), event('a', 200))
  assert.deepEqual(seen, { exceeded: 1, heard: 2 })
})
