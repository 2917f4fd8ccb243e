/** What could be read in two ways is refused by the API as it is by the edge, with all that stands behind it. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { ambiguousBodies, BAD_REQUEST_LINES } from '../../../test/support/ambiguous-requests.ts'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { rawBytes, rawHalf } from '../../../test/support/raw-request.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
})
after(() => api.close())

const raw = (text: string) => rawHalf(api.app.server, text)
const REFUSED = /^HTTP\/1\.1 400 Bad Request\r\n/
const statuses = (text: string) =>
  [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
/** It would be answered 200. */
const smuggled = () => `GET /api/domains HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${owner.key}\r\n\r\n`

describe('a body that could be read in two ways: refused, and what stands behind it is no request', () => {
  for (const name of Object.keys(ambiguousBodies(''))) {
    it(name, async () => {
      const key = `X-Api-Key: ${owner.key}\r\nContent-Type: application/json\r\n`
      const got = await raw(
        `POST /api/domains HTTP/1.1\r\nHost: a\r\n${key}${ambiguousBodies(smuggled())[name]}`,
      )
      assert(statuses(got).length > 0, 'no answer')
      assert(
        statuses(got).every((status) => status === 400),
        got,
      )
      assert.doesNotMatch(got, /"domains"/)
      assert.match(got, /\{"error":"(?:Malformed request|Invalid JSON body|Missing required fields[^"]*)"\}/)
    })
  }
})

describe('request lines', () => {
  for (const [name, line] of Object.entries(BAD_REQUEST_LINES)) {
    it(`${name}: 400 in JSON`, async () => {
      const got = await raw(`${line}\r\nHost: a\r\nConnection: close\r\n\r\n`)
      assert.match(got, REFUSED)
      assert.match(got, /\{"error":"Malformed request"\}/)
    })
  }
})

describe('hosts', () => {
  // Proves decided "Ambiguous requests"
  it('two: 400, the connection ends, and what stands behind is not answered', async () => {
    for (const second of ['a', 'b', 'A']) {
      const got = await raw(`GET /healthz HTTP/1.1\r\nHost: a\r\nHost: ${second}\r\n\r\n${smuggled()}`)
      assert.match(got, REFUSED)
      assert.deepEqual(statuses(got), [400])
      assert.match(got, /^Connection: close\r$/im)
      assert.match(got, /^X-Content-Type-Options: nosniff\r$/im)
    }
  })

  // Proves decided "Ambiguous requests"
  it('none: 400 in HTTP/1.1, also with a whole URL; HTTP/1.0 needs none', async () => {
    assert.match(await raw('GET /healthz HTTP/1.1\r\n\r\n'), REFUSED)
    assert.match(await raw('GET http://a/healthz HTTP/1.1\r\n\r\n'), REFUSED)
    assert.match(await raw('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
  })
})

describe('a whole URL as target', () => {
  const ask = (target: string) => raw(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)

  it('is the path that it names', async () => {
    assert.match(await ask('http://a/healthz'), /^HTTP\/1\.1 200 /)
    assert.match(await ask('HTTPS://b.example:3000/healthz?x'), /^HTTP\/1\.1 200 /)
    assert.match(await ask('http://a/nowhere'), /^HTTP\/1\.1 404 /)
    // Without a path it is the root.
    assert.deepEqual(statuses(await ask('http://a')), statuses(await ask('/')))
  })

  for (const target of [
    'http://u:p@a/healthz',
    'http:///healthz',
    'http:/healthz',
    'ftp://a/healthz',
    'healthz',
  ])
    it(`${target}: 400`, async () => assert.match(await ask(target), REFUSED))

  it('guards nothing less', async () => {
    assert.match(await ask('http://a/api/domains'), /^HTTP\/1\.1 401 /)
    assert.match(await ask('http://a/api/domains/%zz'), /^HTTP\/1\.1 40[01] /)
  })
})

describe('HTTP/1.0', () => {
  it('is answered, and its connection ends unless it asks for more', async () => {
    const got = await rawBytes(api.url, `GET /api/domains HTTP/1.0\r\nX-Api-Key: ${owner.key}\r\n\r\n`)
    assert.match(got, /^HTTP\/1\.1 200 /)
    assert.match(got, /^Connection: close\r$/im)
    // Chunks are unknown to it: the end of the connection is the end of the list.
    assert.doesNotMatch(got, /^Transfer-Encoding/im)
    assert.match(got, /\r\n\r\n\{"domains":\[\]\}$/)
  })

  it('with chunks: 400, for others do not read them', async () => {
    const got = await raw(
      `POST /api/domains HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled()}`,
    )
    assert.deepEqual(statuses(got), [400])
  })
})

describe('sizes, at the limit and one past it', () => {
  /** With Host and Connection, the most that node reads. */
  const MANY = 998

  it('body: 1 MiB is read, one byte more is 413', async () => {
    const ask = (bytes: number) => {
      const body = `{"x":"${'x'.repeat(bytes - 8)}"}`
      assert.equal(body.length, bytes)
      return api.call('POST', '/api/domains', { key: owner.key, body })
    }
    assert.equal((await ask(1024 * 1024)).status, 400)
    const past = await ask(1024 * 1024 + 1)
    assert.deepEqual([past.status, past.text], [413, '{"error":"Request body too large (maximum 1 MiB)"}'])
  })

  it('body in chunks, which says no length before: the same', async () => {
    const ask = (bytes: number) => {
      const body = `{"x":"${'x'.repeat(bytes - 8)}"}`
      return raw(
        `POST /api/domains HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${owner.key}\r\nContent-Type: application/json\r\n` +
          `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      )
    }
    assert.match(await ask(1024 * 1024), /^HTTP\/1\.1 400 .*Missing required fields/s)
    assert.match(await ask(1024 * 1024 + 1), /^HTTP\/1\.1 413 /)
  })

  it('headers: 128 KiB together', async () => {
    // The target, names and values count; the last byte of the limit is one too many.
    const counted = '/healthzHostaConnectioncloseX'.length
    const ask = (bytes: number) =>
      raw(
        `GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ${'x'.repeat(bytes - counted)}\r\n\r\n`,
      )
    assert.match(await ask(128 * 1024 - 1), /^HTTP\/1\.1 200 /)
    assert.match(await ask(128 * 1024), /^HTTP\/1\.1 431 .*Request headers too large/s)
  })

  it(`headers: very many are all read, or 431`, async () => {
    const ask = (count: number) =>
      raw(`GET /healthz HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(count)}Connection: close\r\n\r\n`)
    assert.match(await ask(MANY), /^HTTP\/1\.1 200 /)
    assert.match(await ask(MANY + 1), /^HTTP\/1\.1 431 /)
  })

  it('the host stands behind very many others: it is read all the same', async () => {
    const got = await raw(`GET /healthz HTTP/1.1\r\n${'A: b\r\n'.repeat(5_000)}Host: a\r\nHost: b\r\n\r\n`)
    assert.doesNotMatch(got, / 200 /)
  })

  it('URL: as long as the headers may be', async () => {
    const ask = (length: number) =>
      raw(`GET /healthz?${'x'.repeat(length)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    const counted = '/healthz?HostaConnectionclose'.length
    assert.match(await ask(128 * 1024 - 1 - counted), /^HTTP\/1\.1 200 /)
    assert.match(await ask(128 * 1024 - counted), /^HTTP\/1\.1 431 /)
  })
})
