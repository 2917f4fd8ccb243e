/** Which site a request is for: said once, read in one way. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { rawHalf } from '../../../../test/support/raw-request.ts'

let asked: { url: string; host: string; forwardedHost: string }[] = []
const edge = await openEdge({
  origin: (req, res) => {
    const { host = '', 'x-forwarded-host': forwardedHost } = req.headers
    asked.push({ url: req.url ?? '', host, forwardedHost: String(forwardedHost) })
    res.end('from the origin')
  },
})
await edge.addDomain('xn--bcher-kva.example')
beforeEach(() => {
  asked = []
})

const get = (target: string, host: string, more = '') =>
  rawHalf(
    edge.server,
    `GET ${target} HTTP/1.1\r\nHost:${host === '' ? '' : ` ${host}`}\r\n${more}Connection: close\r\n\r\n`,
  )
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
const statusFor = async (host: string, target = '/') => statusOf(await get(target, host))

async function assertRefused(host: string, target = '/'): Promise<void> {
  assert([400, 404].includes(await statusFor(host, target)), `${host} ${target}`)
  assert.deepEqual(asked, [])
}

it('the same site, whatever its case, port and dot: the origin is asked, and for crawlers it is one page', async () => {
  const before = edge.rendered.length
  const ports = ['red.example:80', 'red.example:8080', 'red.example.:80', 'red.example:']
  for (const host of ['red.example', 'RED.Example', 'red.example.', ...ports]) {
    asked = []
    assert.equal(await statusFor(host), 200, host)
    assert.equal(asked[0]?.host, new URL(edge.origin).host)
    await edge.ask('/one', { host })
  }
  assert.equal(edge.rendered.length, before + 1)
  assert.equal(await statusFor('XN--BCHER-kva.example'), 200)
})

describe('no site', () => {
  it('an unknown host gets 404, and a request with two hosts 400', async () => {
    const hosts = ['', ' ', '.red.example', 'red.example..', 'red.example:80:80', 'blue.example@red.example']
    hosts.push('red.example/blue.example', 'red.example,blue.example', 'red.example blue.example')
    hosts.push('red.example%2e', '[::1]', '127.0.0.1:80', 'localhost', 'b\xc3\xbccher.example')
    hosts.push('constructor', 'x'.repeat(300))
    for (const host of hosts) await assertRefused(host)
  })

  it('people and crawlers get a short plain page', async () => {
    for (const agent of [PERSON, GOOGLEBOT]) {
      const { status, verdict, body } = await edge.ask('/a', { host: 'nobody.example', agent })
      assert.deepEqual([status, verdict], [404, 'none; unknown-host'])
      assert.match(String(body), /No site is registered here/)
    }
  })
})

describe('a whole URL as target', () => {
  it('the host of the target wins over the Host header, and is told to the origin', async () => {
    assert.equal(await statusFor('nobody.example', 'http://red.example/a?b'), 200)
    assert.deepEqual(asked, [{ url: '/a?b', host: new URL(edge.origin).host, forwardedHost: 'red.example' }])
    assert.equal(await statusFor('red.example', 'http://nobody.example/'), 404)
  })

  it('a target that could be read in two ways is refused', async () => {
    const targets = ['http://blue.example@red.example/', 'http:///', 'http:red.example/', 'red.example/', '*']
    targets.push('http://red.example#/', 'http://red.example?x', 'gopher://red.example/')
    for (const target of targets) await assertRefused('red.example', target)
  })

  it('the target of a WebSocket handshake is read the same way', async () => {
    const upgrade = async (target: string) => {
      const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
      return statusOf(await get(target, 'red.example', `Upgrade: websocket\r\nConnection: Upgrade\r\n${key}`))
    }
    assert.equal(await upgrade('http://nobody.example/ws'), 404)
    assert.equal(await upgrade('ftp://red.example/ws'), 400)
    assert.deepEqual(asked, [])
    await upgrade('http://blue.example/ws')
    assert.deepEqual(asked, [{ url: '/ws', host: new URL(edge.origin).host, forwardedHost: 'blue.example' }])
  })
})

it('an odd path: the origin gets it as it came, the cache as one spelling, and no header breaks', async () => {
  const paths = ['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/a/..;/b', '/.%00/a', '/%c0%ae%c0%ae/']
  paths.push('/%zz', '//nobody.example/', '/\\nobody.example', '/a%0d%0aX-Evil:%201', '/"')
  paths.push('/a?b=%0d%0aSet-Cookie:%20x=1')
  for (const path of paths) {
    asked = []
    const person = await get(path, 'red.example', `User-Agent: ${PERSON}\r\n`)
    const urls = asked.map(({ url }) => url)
    assert.deepEqual([statusOf(person), urls], statusOf(person) === 200 ? [200, [path]] : [400, []], path)
    const crawler = await get(path, 'red.example', 'User-Agent: Googlebot\r\n')
    assert([200, 400].includes(statusOf(crawler)), crawler)
    for (const got of [person, crawler]) assert.doesNotMatch(got, /^(?:X-Evil|Set-Cookie):/im)
  }
})
