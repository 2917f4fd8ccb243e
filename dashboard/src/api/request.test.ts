import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'

import { ApiError, renewals, request } from './request.ts'

/** A server that answers when it is told to; what was asked, in order. */
function server(t: TestContext) {
  const asked: { what: string; answer(status: number, body?: unknown): void }[] = []
  t.mock.method(
    globalThis,
    'fetch',
    (path: string, { method }: { method: string }) =>
      new Promise<Response>((resolve) => {
        asked.push({
          what: `${method} ${path}`,
          answer: (status, body) =>
            resolve(new Response(body === undefined ? null : JSON.stringify(body), { status })),
        })
      }),
  )
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

it('so is a request sent before the replacement and refused after it', async (t) => {
  const asked = server(t)
  const session = request('GET', '/api/session')
  const changed = renewals.renew(() => request('PUT', '/api/password', { body: {} }))
  asked[1]!.answer(204)
  await changed
  asked[0]!.answer(401, refusal)
  await settle()
  asked[2]!.answer(200, { account: 1 })
  assert.deepEqual(await session, { account: 1 })
})

it('other refusals are not retried', async (t) => {
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
