import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, it } from 'node:test'

import { AppError } from '../../errors.ts'
import { checkOperator } from './session-access.ts'

const TOKEN = 'a-token-of-the-operator'

function refusal(address: string | undefined, headers: IncomingHttpHeaders, token: string | null) {
  try {
    checkOperator({ headers, socket: { remoteAddress: address } }, token)
    return null
  } catch (error) {
    assert(error instanceof AppError)
    return error.code
  }
}

describe('without a token', () => {
  for (const address of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1']) {
    it(`${address} is this machine`, () => assert.equal(refusal(address, {}, null), null))
  }
  for (const address of ['10.0.0.1', '203.0.113.5', '::ffff:10.0.0.1', '2001:db8::1', '::2', undefined]) {
    it(`${address} is not`, () => assert.equal(refusal(address, {}, null), 'not_found'))
  }
  const forwarding = 'x-forwarded-for forwarded via x-real-ip x-forwarded-proto x-forwarded-host'
  for (const name of forwarding.split(' ')) {
    it(`nor is who comes with ${name}`, () =>
      assert.equal(refusal('127.0.0.1', { [name]: '203.0.113.5' }, null), 'not_found'))
  }
})

describe('with a token', () => {
  it('whoever brings it may ask, from anywhere', () => {
    for (const address of ['127.0.0.1', '203.0.113.5']) {
      assert.equal(refusal(address, { authorization: `Bearer ${TOKEN}` }, TOKEN), null)
    }
  })
  const wrong = [
    '',
    TOKEN,
    `Basic ${TOKEN}`,
    `Bearer ${TOKEN}x`,
    'Bearer',
    `Bearer ${TOKEN}, Bearer ${TOKEN}`,
  ]
  for (const headers of [{}, ...wrong.map((authorization) => ({ authorization }))]) {
    it(`nobody else, this machine neither: ${JSON.stringify(headers)}`, () =>
      assert.equal(refusal('127.0.0.1', headers, TOKEN), 'invalid_token'))
  }
})
