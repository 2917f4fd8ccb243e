import assert from 'node:assert/strict'
import { it } from 'node:test'

import { assertAnswer, openApi } from '../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account()
const cookie = await api.session(owner)
await api.domain(owner, 'one.example.com')

const call = (method: string, path: string, body?: object, by = cookie) =>
  api.call(method, path, { cookie: by, body })

it('keys, 400, 403, 404: what is wrong is named', async () => {
  const make = (body: object, by = cookie) => call('POST', '/api/keys', body, by)
  const tomorrow = await make({ name: 'a', expires_at: 'tomorrow' })
  assertAnswer(tomorrow, 400, 'expires_at must be a time such as 2027-01-31T12:00:00Z')
  assert.equal((await make({ name: 'a', expires_at: '2020-01-31T12:00:00Z' })).status, 400)
  assert.equal((await make({})).status, 400)
  const poor = await api.session(await api.account('agency'))
  for (let at = 0; at < 4; at++) assert.equal((await make({ name: 'a' }, poor)).status, 201)
  assertAnswer(await make({ name: 'a' }, poor), 403, 'API key limit reached (5 per account)')
  for (const none of ['99999', '-1', '2147483648', '999999999999999', '9'.repeat(30)]) {
    assert.equal((await call('DELETE', `/api/keys/${none}`)).status, 404, none)
    assert.equal((await call('DELETE', `/api/tokens/${none}`)).status, 404, none)
  }
})
