import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startsOf, timeRange } from '@prepaint/contract/traffic/time-range.ts'
import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'
import { renewals, request } from './request.ts'
import { switchAccount } from './session.ts'
import { RANGES, rangeNamed, rangeParams } from './traffic-queries.ts'

type Asked = { what: string; answer(status: number, body?: unknown): void }

/** Replaces the server by one that answers when the test says so. Returns what was asked, in order. */
function server(t: TestContext): Asked[] {
  const asked: Asked[] = []
  t.mock.method(globalThis, 'fetch', (path: string, { method }: { method: string }) => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    const answer: Asked['answer'] = (status, body = null) =>
      resolve(new Response(body === null ? null : JSON.stringify(body), { status }))
    asked.push({ what: `${method} ${path}`, answer })
    return promise
  })
  return asked
}
const refusal = { error: 'Session required' }
const settle = () => new Promise((resolve) => setImmediate(resolve))

it('a request refused while the session cookie is replaced is sent again', async (t) => {
  const asked = server(t)
  const changed = renewals.renew(() => request('PUT', '/api/password', { body: {} }))
  const session = request('GET', '/api/session')
  asked[1]!.answer(401, refusal)
  await settle()
  assert.equal(asked.length, 2, 'the new cookie is not there yet')
  asked[0]!.answer(204)
  assert.equal(await changed, null)
  await settle()
  assert.equal(asked[2]?.what, 'GET /api/session')
  asked[2]!.answer(200, { account: 1 })
  assert.deepEqual(await session, { account: 1 })
})

it('a request of another window that is refused meanwhile waits for the new cookie', async (t) => {
  const asked = server(t)
  const said: unknown[] = []
  const channel: Parameters<typeof renewals.join>[0] = {
    postMessage: (word) => said.push(word),
    onmessage: null,
  }
  renewals.join(channel)
  const hear = (data: string) => channel.onmessage?.(new MessageEvent('message', { data }))
  hear('begins')
  const session = request('GET', '/api/session')
  asked[0]!.answer(401, refusal)
  await settle()
  assert.equal(asked.length, 1)
  hear('renewed')
  await settle()
  asked[1]!.answer(200, { account: 1 })
  assert.deepEqual(await session, { account: 1 })
  await renewals.renew(async () => null)
  assert.deepEqual(said, ['begins', 'renewed'])
})

it('a refusal without a new cookie is not retried', async (t) => {
  const asked = server(t)
  const session = request('GET', '/api/session')
  asked[0]!.answer(401, refusal)
  await assert.rejects(session, new ApiError(401, refusal.error))
  const changed = renewals.renew(() => request('PUT', '/api/password', { body: {} }))
  const other = request('GET', '/api/session')
  asked[2]!.answer(401, refusal)
  asked[1]!.answer(422, { error: 'The current password is wrong' })
  await assert.rejects(changed, { status: 422 })
  await assert.rejects(other, { status: 401 })
  assert.equal(asked.length, 3)
})

it('each range has as many steps as its name says, for the server too, at any moment of an hour or day', () => {
  for (const name of [null, '1000d']) assert.equal(rangeNamed(name).name, '24h')
  for (const now of ['2026-11-15T12:30:00Z', '2026-11-15T00:00:00.000Z', '2026-11-15T23:59:59.999Z']) {
    const nowMs = Date.parse(now)
    for (const range of RANGES) {
      const found = timeRange(Object.fromEntries(new URLSearchParams(rangeParams(range, nowMs))), nowMs)
      assert('range' in found, `${range.name} at ${now}: ${JSON.stringify(found)}`)
      // In the first moment of a step, the one that ends with it is the last that the server has.
      const count = startsOf(found.range).length
      assert(count === range.steps || (now.endsWith('00:00.000Z') && count === range.steps - 1), `${count}`)
    }
  }
})

it('after signing in as another account nothing is left that was read for the one before', () => {
  const queries = new QueryClient()
  queries.setQueryData(['domains'], ['red.example'])
  switchAccount(queries, null)
  assert.equal(queries.getQueryData(['domains']), undefined)
})

it('a refusal that names a rule is told in words, without the path of the rule', async (t) => {
  const asked = server(t)
  const saved = request('PUT', '/api/domains/shop.example.com', { body: {} })
  const path = ['settings', 'rules', 3, 'render', 'wait_for']
  asked[0]!.answer(400, {
    error: 'settings.rules[3].render.wait_for is not a CSS selector',
    problems: [{ path, message: 'is not a CSS selector' }],
  })
  await assert.rejects(saved, { message: 'Rule 4, render.wait_for is not a CSS selector.' })
})
