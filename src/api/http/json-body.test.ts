import assert from 'node:assert/strict'
import type { RequestOptions } from 'node:http'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { assertError, rawRequest } from '../../../test/support/raw-request.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

const raw = (options: RequestOptions, body?: string | Buffer) => rawRequest(api.url, options, body)

// Proves interface "All bodies are JSON.", decided "Missing or wrong fields in a body"
describe('400: a body that is no JSON', () => {
  const bodies: [string, string | Buffer][] = [
    ['broken', '{"domain": "shop.example.com"'],
    ['two values', '{} {}'],
    ['a comment', '// {}'],
    ['a form', 'domain=shop.example.com'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a lone NUL', '\0'],
    ['nothing but blanks', '   '],
  ]
  for (const [name, body] of bodies) {
    it(name, async () => {
      const headers = { 'x-api-key': owner.key, 'content-type': 'application/json' }
      const answer = await raw({ method: 'POST', path: '/api/cache/purge', headers }, body)
      assert.equal(answer.status, 400)
      assertError(answer, 'Invalid JSON body')
    })
  }

  it('values that are nested a hundred thousand deep, and names that would poison objects', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const poison =
      '{"__proto__": {"domain": "shop.example.com"}, "constructor": {"prototype": {"path": "/"}}}'
    for (const [body, error] of [
      [deep, 'body must be an object'],
      [poison, 'domain is required'],
    ] as const) {
      const answer = await api.call('POST', '/api/cache/purge', { key: owner.key, body })
      assert.deepEqual([answer.status, answer.body], [400, { error }])
    }
    assert.equal(({} as Record<string, unknown>)['domain'], undefined)
  })
})

describe('content types', () => {
  const send = (type: string | undefined, body: string) => {
    const headers = { 'x-api-key': owner.key, ...(type === undefined ? {} : { 'content-type': type }) }
    return raw({ method: 'POST', path: '/api/cache/purge', headers }, body)
  }
  const BODY = '{"domain": "shop.example.com"}'

  // Proves decided "Content type of a body"
  it('200: JSON under its names, and without a type', async () => {
    for (const type of [
      undefined,
      'application/json',
      'APPLICATION/JSON; charset=utf-8',
      'application/problem+json',
      'application/json;charset="utf-8"',
    ]) {
      assert.equal((await send(type, BODY)).status, 200, type)
    }
  })

  // Proves interface "All bodies are JSON.", decided "Content type of a body"
  it('415: anything else, also what is malformed', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'json',
      ';',
      'a/b/c',
      'application/xml',
    ]) {
      const answer = await send(type, BODY)
      assert.equal(answer.status, 415, type)
      assertError(answer, 'Content-Type must be application/json')
    }
  })
})

describe('413', () => {
  // Proves decided "Missing or wrong fields in a body"
  it('1 MiB is read, one byte more is not, with or without a length', async () => {
    const body = (size: number) => {
      const start = '{"domain": "shop.example.com", "filler": "'
      return `${start}${'x'.repeat(size - start.length - 2)}"}`
    }
    for (const chunked of [false, true]) {
      const headers = {
        'x-api-key': owner.key,
        'content-type': 'application/json',
        ...(chunked ? { 'transfer-encoding': 'chunked' } : {}),
      }
      const purge = (size: number) => raw({ method: 'POST', path: '/api/cache/purge', headers }, body(size))
      assert.equal((await purge(1_048_576)).status, 200)
      const answer = await purge(1_048_577)
      assert.equal(answer.status, 413)
      assertError(answer, 'Request body too large (maximum 1 MiB)')
    }
  })

  it('the key is checked before a large body is taken in', async () => {
    const headers = { 'content-type': 'application/json' }
    const answer = await raw({ method: 'POST', path: '/api/cache/purge', headers }, 'x'.repeat(2_000_000))
    assert.equal(answer.status, 401)
  })
})
