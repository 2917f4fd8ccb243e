/** Which site a request is for: said once, read in one way. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'

import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { rawExchange, UNTIL_ANSWERED_MS } from '../../../test/support/raw-edge.ts'

let edge: TestEdge
let asked: { url: string; host: string; forwardedHost: string }[] = []
before(async () => {
  edge = await startTestEdge({
    origin: (req, res) => {
      const { host = '', 'x-forwarded-host': forwardedHost } = req.headers
      asked.push({ url: req.url ?? '', host, forwardedHost: String(forwardedHost) })
      res.end('from the origin')
    },
  })
  await edge.addDomain('xn--bcher-kva.example')
})
after(() => edge.close())
beforeEach(() => {
  asked = []
})

const raw = (host: string, target = '/') =>
  rawExchange(
    edge.port,
    `GET ${target} HTTP/1.1\r\nHost:${host === '' ? '' : ` ${host}`}\r\nConnection: close\r\n\r\n`,
    UNTIL_ANSWERED_MS,
  )
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])

describe('the same site', () => {
  const SAME = [
    'red.example',
    'RED.Example',
    'red.example:80',
    'red.example:8080',
    'red.example.',
    'red.example.:80',
    'red.example:',
  ]
  for (const host of SAME) {
    it(host, async () => {
      assert.equal(statusOf(await raw(host)), 200)
      assert.equal(asked[0]?.host, new URL(edge.origin).host)
    })
  }

  it('is one page, however its name is written', async () => {
    const before = edge.rendered.length
    for (const host of SAME) await edge.ask('/one', { host })
    assert.equal(edge.rendered.length, before + 1)
  })

  it('an international name in the spelling of the domain system', async () => {
    assert.equal(statusOf(await raw('XN--BCHER-kva.example')), 200)
  })
})

describe('nobody', () => {
  const NOBODY = [
    '',
    ' ',
    '.',
    ':80',
    'red.example..',
    '.red.example',
    'red..example',
    'red.example:80:80',
    'red.example:80a',
    'red.example:-1',
    'blue.example@red.example',
    'red.example@blue.example',
    'user:pass@red.example',
    'red.example/blue.example',
    'red.example?',
    'red.example#',
    'red.example\\',
    'red.example,blue.example',
    'red.example blue.example',
    'red.example%00',
    'red.example%2e',
    '"red.example"',
    '[red.example]',
    '[::1]',
    '127.0.0.1',
    'localhost',
    '*',
    'b\xfccher.example',
    'b\xc3\xbccher.example',
    'red\xad.example',
    '\xef\xbd\x92ed.example',
    'x'.repeat(64),
    `${'x'.repeat(300)}.example`,
    '__proto__',
    'constructor',
    'red.example;',
    "red.example' or 1=1",
  ]
  for (const host of NOBODY) {
    it(JSON.stringify(host).slice(0, 60), async () => {
      assert([400, 404].includes(statusOf(await raw(host))), host)
      assert.deepEqual(asked, [])
    })
  }
})

describe('a whole URL as target', () => {
  it('its host counts, whatever the header says, and the origin is told that one', async () => {
    assert.equal(statusOf(await raw('nobody.example', 'http://red.example/a?b')), 200)
    assert.deepEqual(asked, [{ url: '/a?b', host: new URL(edge.origin).host, forwardedHost: 'red.example' }])
    assert.equal(statusOf(await raw('red.example', 'http://nobody.example/')), 404)
  })

  const REFUSED = [
    'http://blue.example@red.example/',
    'http://red.example:80@blue.example/',
    'http:///',
    'http://',
    'http:red.example/',
    'https:/red.example/',
    'http://red.example#/',
    'http://red.example?x',
    'http://[red.example/',
    'gopher://red.example/',
    'javascript://red.example/',
    'http//red.example/',
    'red.example/',
    '*',
    '?',
    '\\',
    '/\\red.example',
  ]
  for (const target of REFUSED.filter((one) => !one.startsWith('/'))) {
    it(`${target}: refused`, async () => {
      assert([400, 404].includes(statusOf(await raw('red.example', target))), target)
      assert.deepEqual(asked, [])
    })
  }

  it('of a WebSocket handshake is read the same way', async () => {
    const upgrade = (target: string) =>
      rawExchange(
        edge.port,
        `GET ${target} HTTP/1.1\r\nHost: red.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
        UNTIL_ANSWERED_MS,
      )
    assert.equal(statusOf(await upgrade('http://nobody.example/ws')), 404)
    assert.equal(statusOf(await upgrade('ftp://red.example/ws')), 400)
    assert.deepEqual(asked, [])
    await upgrade('http://blue.example/ws')
    assert.deepEqual(asked, [{ url: '/ws', host: new URL(edge.origin).host, forwardedHost: 'blue.example' }])
  })
})

describe('paths', () => {
  const PATHS = [
    '/../../etc/passwd',
    '/..%2f..%2fetc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/a/..;/b',
    '/.%00/a',
    '/%c0%ae%c0%ae/',
    '//nobody.example/',
    '/\\nobody.example',
    '/a%0d%0aX-Evil:%201',
    '/%0d%0a%0d%0a<html>',
    '/a?b=%0d%0aSet-Cookie:%20x=1',
    '/%',
    '/%zz',
    '/%u0041',
    '/a?%',
    '/a|b',
    '/"',
    "/'",
    '/<script>',
    '/{}',
    '/^',
    '/`',
    '/a?b=<>"',
  ]
  for (const path of PATHS) {
    it(`${path}: the origin gets it as it came, the cache as one spelling, and no header breaks`, async () => {
      const person = await rawExchange(
        edge.port,
        `GET ${path} HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\nConnection: close\r\n\r\n`,
        UNTIL_ANSWERED_MS,
      )
      if (statusOf(person) === 200)
        assert.deepEqual(
          asked.map(({ url }) => url),
          [path],
        )
      else assert.deepEqual([statusOf(person), asked], [400, []])
      assert.doesNotMatch(person, /^(?:X-Evil|Set-Cookie):/im)

      const crawler = await rawExchange(
        edge.port,
        `GET ${path} HTTP/1.1\r\nHost: red.example\r\nUser-Agent: Googlebot\r\nConnection: close\r\n\r\n`,
        UNTIL_ANSWERED_MS,
      )
      assert([200, 400].includes(statusOf(crawler)), crawler)
      assert.doesNotMatch(crawler, /^(?:X-Evil|Set-Cookie):/im)
    })
  }
})
